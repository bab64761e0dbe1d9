// Declares the command `mcp`.
import { declareCommand } from '../commands/declare.ts'

export const addMcpCommand = declareCommand({
  name: 'mcp',
  description: 'serve the operator’s API as an MCP server on standard input and output, for coding agents',
  note: 'In the client’s configuration: { "command": "npx", "args": ["postern", "mcp"] }',
  async load() {
    const { loadOptionalLibrary } = await import('@postern/message/optional-library')
    const libraries = ['@modelcontextprotocol/sdk']
    const { serveMcp } = await loadOptionalLibrary(() => import('./server.ts'), { key: 'mcp', libraries })
    return (_output, _input, context) => serveMcp(context, context.version)
  },
})
