"""Mutants of CMP-3 to CMP-6: what is asked, what reaches the wire, and what should not."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from tests.conformance.mutants.mutation import (
    CHAT,
    MESSAGES,
    RESPONSES,
    ErrorMutation,
    Moment,
    Mutation,
    mutant,
    remade,
)
from treelang import (
    ModelRequest,
    ModelRequestError,
    ProviderResponseError,
)
from treelang.transports.request import CheckedRequest, FunctionTool, Message

# --- CMP-3: the request is the caller's ---


@mutant("CMP-3", wires=(CHAT, MESSAGES))
class TakesTheFormatOutOfTheRequest(Mutation):
    """A call leaves the request without its response format."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        finally:
            if isinstance(request, dict):
                request.pop("response_format", None)


@mutant("CMP-3")
class AppendsTheAnswerToTheConversation(Mutation):
    """`complete` adds the answer to the caller's list of messages."""

    async def complete(self, request: ModelRequest) -> str:
        text = await super().complete(request)
        if isinstance(request["messages"], list):
            request["messages"].append({"role": "assistant", "content": text})
        return text


@mutant("CMP-3")
class SortsTheCallersSchema(Mutation):
    """A strict call puts the properties of the caller's own schema into alphabetical order."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        finally:
            match request:
                case {"response_format": {"json_schema": {"schema": {"properties": dict() as properties}}}}:
                    for name in sorted(properties):
                        properties[name] = properties.pop(name)


@mutant("CMP-3")
class DemandsADictAtDepth(Mutation):
    """A schema that is not made of `dict`s is refused; the mappings around it may be of any kind."""

    async def complete(self, request: ModelRequest) -> str:
        match request:
            case {"response_format": {"json_schema": {"schema": schema}}}:
                if isinstance(schema, Mapping) and not isinstance(schema, dict):
                    raise ModelRequestError("The schema must be a dict.", provider=self._provider)
        return await super().complete(request)


# --- CMP-4 and CMP-5: what reaches the wire ---


class RequestMutation(Mutation):
    """An adapter that misunderstands what it is asked."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        raise NotImplementedError

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        return super()._arguments(self.misread(request))

    @staticmethod
    def with_messages(request: CheckedRequest, *messages: Message) -> CheckedRequest:
        return dataclasses.replace(request, messages=messages)


@mutant("CMP-4", wires=(CHAT, MESSAGES))
class TrimsUserTexts(RequestMutation):
    """White space around the text of a user turn is lost."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return self.with_messages(
            request,
            *(
                Message(one.role, one.content.strip() if one.role == "user" else one.content)
                for one in request.messages
            ),
        )


@mutant("CMP-4")
class MergesARepeatedTurn(RequestMutation):
    """A turn that says the same as the one before it is left out."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        kept: list[Message] = []
        for message in request.messages:
            if not kept or kept[-1].content != message.content:
                kept.append(message)
        return self.with_messages(request, *kept)


@mutant("CMP-4", wires=(CHAT, MESSAGES))
class KeepsTheLastSystemText(RequestMutation):
    """Of several system texts the last one alone is sent."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        last = [one for one in request.messages if one.role == "system"][-1:]
        return self.with_messages(request, *last, *(one for one in request.messages if one.role != "system"))


@mutant("CMP-4")
class CutsLongTexts(RequestMutation):
    """A text of more than 19,000 characters is cut to that length."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return self.with_messages(request, *(Message(one.role, one.content[:19_000]) for one in request.messages))


@mutant("CMP-4")
class RemembersTheFirstModel(RequestMutation):
    """Every call asks the model that the first call asked."""

    _first: str | None = None

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        self._first = self._first or request.model
        return dataclasses.replace(request, model=self._first)


@mutant("CMP-5", wires=(CHAT, MESSAGES))
class DropsAZeroTemperature(RequestMutation):
    """A temperature of zero is taken for none."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, temperature=request.temperature or None)


@mutant("CMP-5", wires=(CHAT, RESPONSES))
class CutsATemperatureAboveOne(RequestMutation):
    """A temperature above 1 is sent as 1."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        temperature = request.temperature
        return dataclasses.replace(request, temperature=None if temperature is None else min(temperature, 1))


@mutant("CMP-5")
class KeepsTheTemperatureForTheNextCall(RequestMutation):
    """A call without temperature gets that of the call before."""

    _kept: float | None = None

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if request.temperature is not None:
            self._kept = request.temperature
        return dataclasses.replace(request, temperature=self._kept)


@mutant("CMP-5")
class DropsEmptyValuesOfToolSchemas(RequestMutation):
    """Null and empty values are left out of the schemas of tools, at any depth."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        tools = [FunctionTool(tool.name, tool.description, _without_empty(tool.parameters)) for tool in request.tools]
        return dataclasses.replace(request, tools=tuple(tools))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items() if item not in (None, [], "")}
    return [_without_empty(item) for item in value if item is not None] if isinstance(value, list) else value


@mutant("CMP-5")
class SendsTheFirstToolAlone(RequestMutation):
    """Of several tools the first one alone is sent."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, tools=request.tools[:1])


# --- CMP-6: requests that no wire can express ---


class RepairingMutation(Mutation):
    """An adapter that sends what it should refuse."""

    def repaired(self, request: dict[str, Any]) -> None:
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        changed = copy.deepcopy(request) if isinstance(request, dict) else request
        if isinstance(changed, dict):
            self.repaired(changed)
        return await super().complete(changed)


@mutant("CMP-6")
class SendsAnUnknownRoleAsUser(RepairingMutation):
    """A message of an unknown role is sent as the user's."""

    def repaired(self, request: dict[str, Any]) -> None:
        for message in request.get("messages") or ():
            if isinstance(message, dict) and message.get("role") not in (None, "system", "user", "assistant"):
                message["role"] = "user"


@mutant("CMP-6", wires=(CHAT, MESSAGES))
class SendsAnEmptyConversation(RepairingMutation):
    """A request without any message is sent with an empty one."""

    def repaired(self, request: dict[str, Any]) -> None:
        if request.get("messages") == []:
            request["messages"] = [{"role": "user", "content": ""}]


@mutant("CMP-6", wires=(CHAT, MESSAGES))
class LeavesOutAToolWithoutAName(RepairingMutation):
    """A tool without a name is left out, and the rest is sent."""

    def repaired(self, request: dict[str, Any]) -> None:
        match request:
            case {"tools": [{"function": {"name": None}}]}:
                request["tools"] = []


@mutant("CMP-6")
class TakesAnUnknownFormatForText(RepairingMutation):
    """A response format of an unknown type is taken for text."""

    def repaired(self, request: dict[str, Any]) -> None:
        match request.get("response_format"):
            case {"type": str(kind)} if kind not in ("text", "json_object", "json_schema"):
                del request["response_format"]


@mutant("CMP-6")
class DoesNotNameTheField(ErrorMutation):
    """The error for a malformed tool does not say which field is malformed."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelRequestError) and "tools[" in str(error):
            return remade(error, text="The model request cannot be sent.")
        return error
