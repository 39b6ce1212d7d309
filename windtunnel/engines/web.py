"""Web pages of daemons, asked through one set of connections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 5.0


class WebPages:
    """Asks daemons' web servers. One that does not answer tells nothing."""

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx  # takes long, and 'plan' talks to no daemon

        return httpx.Client(timeout=_TIMEOUT_S, trust_env=False)

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "_http" in self.__dict__:
            self._http.close()

    def _get(self, url: str) -> httpx.Response | None:
        """A page; None where there is no answer, or a refusal."""
        import httpx

        try:
            answer = self._http.get(url)
        except httpx.HTTPError:
            return None
        return answer if answer.is_success else None

    def _object(self, url: str) -> dict[str, Any]:
        """A page's JSON object; empty where there is none."""
        answer = self._get(url)
        try:
            found = answer.json() if answer is not None else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _bean_at(self, address: str, service: str, name: str) -> dict[str, Any]:
        """A bean (JMX) of Hadoop's kind, from ``HOST:PORT``; empty where there is none."""
        found = self._object(f"http://{address}/jmx?qry=Hadoop:service={service},name={name}")
        beans = found.get("beans")
        return dict(beans[0]) if isinstance(beans, list) and beans else {}
