"""Where the egress proxy is found inside a sandbox, the variables that tell programs so, and how much it may note."""

from __future__ import annotations

__all__ = ["LOG_BYTES", "PORT", "VARIABLES"]

LOG_BYTES = 1 << 20
"""Room for what the proxy of one run notes; as much of it is read."""

PORT = 3128
"""On 127.0.0.1; it speaks HTTP and SOCKS5 there."""
_HTTP, _SOCKS = f"http://127.0.0.1:{PORT}", f"socks5h://127.0.0.1:{PORT}"
VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _HTTP),
    **dict.fromkeys(("all_proxy", "ALL_PROXY"), _SOCKS),
}
