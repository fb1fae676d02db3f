"""Writing of an index: conversion of documents to the engine's form, and the process that writes them."""
