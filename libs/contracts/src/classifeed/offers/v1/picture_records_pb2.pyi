from classifeed.offers.v1 import offer_pb2 as _offer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PictureRecords(_message.Message):
    __slots__ = ("pictures",)
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    pictures: _containers.RepeatedCompositeFieldContainer[_offer_pb2.OfferPicture]
    def __init__(self, pictures: _Optional[_Iterable[_Union[_offer_pb2.OfferPicture, _Mapping]]] = ...) -> None: ...
