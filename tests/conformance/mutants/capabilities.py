"""Mutants of CAP: what is declared of models, and whether it is true."""

from __future__ import annotations

import dataclasses
import socket

from tests.conformance.mutants.mutation import CHAT, MESSAGES, Mutation, mutant
from tests.conformance.mutants.requests import RequestMutation
from treelang import ModelCapabilities, ModelRequest
from treelang.transports.request import CheckedRequest


@mutant("CAP-1", wires=(CHAT, MESSAGES), touches={"CAP-2": "it asks for the same names"})
class EncodesTheNameOfTheModel(Mutation):
    """The capabilities of a model whose name is no valid Unicode raise `UnicodeEncodeError`."""

    def capabilities(self, model: str) -> ModelCapabilities:
        return super().capabilities(model.encode().decode())


@mutant("CAP-1", wires=(CHAT, MESSAGES))
class LearnsFromACall(Mutation):
    """A model that has answered once is declared to take temperature no more."""

    _asked: str | None = None

    async def complete(self, request: ModelRequest) -> str:
        text = await super().complete(request)
        self._asked = request["model"]
        return text

    def capabilities(self, model: str) -> ModelCapabilities:
        known = super().capabilities(model)
        return dataclasses.replace(known, temperature=False) if model == self._asked else known


@mutant("CAP-1")
class AsksTheProviderForAnUnknownModel(Mutation):
    """For a model that is not known the provider is asked for its list, of which nothing comes."""

    def capabilities(self, model: str) -> ModelCapabilities:
        known = super().capabilities(model)
        if known == ModelCapabilities():
            with socket.create_connection(self._client.address) as connection:
                connection.sendall(b"GET /v1/models HTTP/1.1\r\nhost: provider\r\n\r\n")
                connection.recv(1)
        return known


@mutant("CAP-2", wires=(CHAT, MESSAGES))
class KnowsAModelByItsEnd(Mutation):
    """A name that ends with that of a known model has its capabilities."""

    def capabilities(self, model: str) -> ModelCapabilities:
        return super().capabilities(model.removeprefix("un-"))


@mutant("CAP-2")
class GivesANamelessModelTemperature(Mutation):
    """A model without a name is declared to take temperature."""

    def capabilities(self, model: str) -> ModelCapabilities:
        return super().capabilities(model) if model else ModelCapabilities(temperature=True)


@mutant("CAP-3", wires=(CHAT, MESSAGES))
class RoundsASmallTemperatureToZero(RequestMutation):
    """A temperature below a half is declared, taken, and sent as zero."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        low = request.temperature is not None and request.temperature < 0.5
        return dataclasses.replace(request, temperature=0) if low else request
