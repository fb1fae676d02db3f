// Command load hands in a feed file, waits for the end of its load, prints what became of the offers, and searches.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	feeds "classifeed.example/load/contracts/classifeed/feeds/v1"
	search "classifeed.example/load/contracts/classifeed/search/v1"
)

const chunkBytes = 1 << 20 // the most that a message may carry

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: load FILE SELLER QUERY")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(file, seller, query string) error {
	token, err := os.ReadFile(os.Getenv("CLASSIFEED_TOKEN_FILE"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strings.TrimSpace(string(token)))

	api, err := connect("CLASSIFEED_API_ADDRESS")
	if err != nil {
		return err
	}
	defer api.Close()
	client := feeds.NewFeedServiceClient(api)
	upload, err := uploadFile(ctx, client, file, seller)
	if err != nil {
		return err
	}
	task, err := waitForEnd(ctx, client, upload)
	if err != nil {
		return err
	}
	found := task.GetStatistics()
	fmt.Printf("%s: %d added, %d updated, %d unchanged, %d refused\n",
		task.GetStatus(), found.GetAdded(), found.GetUpdated(), found.GetUnchanged(), found.GetRejectedValidation())

	searcher, err := connect("CLASSIFEED_SEARCHER_ADDRESS")
	if err != nil {
		return err
	}
	defer searcher.Close()
	request := &search.SearchRequest{Client: "offers", Query: query, PageSize: 5}
	answer, err := search.NewSearchServiceClient(searcher).Search(ctx, request)
	if err != nil {
		return err
	}
	fmt.Println(answer.GetTotal(), "hits")
	return nil
}

// connect returns a connection to the address in a variable.
func connect(variable string) (*grpc.ClientConn, error) {
	return grpc.NewClient(os.Getenv(variable), grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// uploadFile sends the spec, then the file in pieces.
func uploadFile(ctx context.Context, client feeds.FeedServiceClient, path, seller string) (*feeds.Upload, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stream, err := client.UploadFeed(ctx)
	if err != nil {
		return nil, err
	}
	// With its size an upload that is cut off is refused.
	spec := &feeds.UploadSpec{SellerId: seller, FileName: filepath.Base(path), SizeBytes: about.Size()}
	request := &feeds.UploadFeedRequest{Part: &feeds.UploadFeedRequest_Spec{Spec: spec}}
	piece := make([]byte, chunkBytes)
	for {
		// Refused meanwhile: CloseAndRecv returns why.
		if err := stream.Send(request); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		size, err := file.Read(piece)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		request = &feeds.UploadFeedRequest{Part: &feeds.UploadFeedRequest_Chunk{Chunk: piece[:size]}}
	}
	return stream.CloseAndRecv()
}

// waitForEnd returns the task of an upload once it has ended or is held.
func waitForEnd(ctx context.Context, client feeds.FeedServiceClient, upload *feeds.Upload) (*feeds.Task, error) {
	var err error
	for upload.GetTask() == "" {
		if upload, err = client.GetUpload(ctx, &feeds.GetUploadRequest{Name: upload.GetName()}); err != nil {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	for {
		task, err := watch(ctx, client, upload.GetTask())
		// A service that restarts breaks the stream; the load goes on.
		if status.Code(err) != codes.Unavailable {
			return task, err
		}
		time.Sleep(time.Second)
	}
}

// watch returns what the stream of a task sent last: it ends when the task has ended or is held.
func watch(ctx context.Context, client feeds.FeedServiceClient, name string) (*feeds.Task, error) {
	stream, err := client.WatchTask(ctx, &feeds.GetTaskRequest{Name: name})
	if err != nil {
		return nil, err
	}
	var task *feeds.Task
	for {
		next, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return task, nil
		} else if err != nil {
			return nil, err
		}
		task = next
	}
}
