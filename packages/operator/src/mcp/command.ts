// Declares the command `mcp`.
import type { Command } from 'commander'
import type { CommandContext } from '../commands/context.ts'

export function addMcpCommand(program: Command, access: CommandContext): void {
  program
    .command('mcp')
    .description('serve the operator’s API as an MCP server on standard input and output, for coding agents')
    .addHelpText('after', '\nIn the client’s configuration: { "command": "npx", "args": ["postern", "mcp"] }')
    .action(async () => {
      const { loadOptionalLibrary: loadOptional } = await import('@postern/message/optional-library')
      const libraries = ['@modelcontextprotocol/sdk']
      const { serveMcp } = await loadOptional(() => import('./server.ts'), { key: 'mcp', libraries })
      await serveMcp(access, access.version)
    })
}
