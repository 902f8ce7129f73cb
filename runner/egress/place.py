"""Where the egress proxy is found inside a sandbox, and the variables that tell programs so."""

from __future__ import annotations

__all__ = ["PORT", "VARIABLES"]

PORT = 3128
"""On 127.0.0.1; it speaks HTTP and SOCKS5 there."""
_HTTP, _SOCKS = f"http://127.0.0.1:{PORT}", f"socks5h://127.0.0.1:{PORT}"
VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _HTTP),
    **dict.fromkeys(("all_proxy", "ALL_PROXY"), _SOCKS),
}
