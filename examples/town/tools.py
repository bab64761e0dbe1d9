"""The tools of the guide: an MCP server that the gateway starts."""

from mcp.server import MCPServer

from hours import hours_of

server = MCPServer("town")


@server.tool()
def opening_hours(day: str) -> str:
    """When the town office is open on a day of the week, such as "Monday"."""
    return hours_of(day)


if __name__ == "__main__":
    server.run()
