// Collects the tools of one agent from its module and its MCP servers.
import { ConfigError, loadOptionalLibrary, readVisibleText, readVisibleValue } from '@postern/message'
import type { ToolPolicies } from '../config/tool-policies.ts'
import type { AgentOpenDeps } from '../kind/agent-kind.ts'
import { applyToolPolicies } from '../tools/tool-rules.ts'
import type { FindArgumentFault, Tool, Toolbox } from '../tools/tools.ts'
import { createArgumentCheck, openToolbox } from '../tools/tools.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnection } from './connection.ts'
import { createMcpConnection } from './connection.ts'
import { relaxSchema } from './relax-schema.ts'
import { readToolResult } from './tool-result.ts'

interface ToolSources {
  /** The path of a module. */
  readonly tools?: string | undefined
  readonly mcp: readonly McpServerConfig[]
  readonly tool_policies: ToolPolicies
}

/** The maximum number of tools of one server, and of pages of their list. */
const maxTools = 200
const maxPages = 20
/** A tool may run as long as its turn lasts. */
const maxTimeoutMs = 2 ** 31 - 1

/** Opens the tools that one agent may call: those of its module, and those of its MCP servers, which it connects now. @throws ConfigError */
export async function openTools(
  { tools: path, mcp, tool_policies }: ToolSources,
  key: string,
  deps: AgentOpenDeps,
): Promise<Toolbox> {
  const moduleToolbox = path === undefined ? undefined : await openToolbox(path, `${key}.tools`, deps.baseDir)
  if (mcp.length > 0) {
    const library = { key: `${key}.mcp`, libraries: ['@modelcontextprotocol/sdk'] }
    await loadOptionalLibrary(() => import('@modelcontextprotocol/sdk/client/index.js'), library)
  }
  const connections = mcp.map(config => createMcpConnection(config, deps))
  const close = async () => {
    await Promise.all([moduleToolbox?.close?.(), ...connections.map(connection => connection.close())])
  }
  const tools = new Map(moduleToolbox?.tools)
  try {
    for (const [index, connection] of connections.entries()) {
      const serverKey = `${key}.mcp.${index}`
      for (const tool of await listAllowedTools(connection, mcp[index] as McpServerConfig, serverKey))
        addTool(tools, tool, serverKey)
    }
    return { tools: applyToolPolicies(tools, tool_policies, `${key}.tool_policies`), close }
  } catch (error) {
    await close()
    throw error
  }
}

function addTool(tools: Map<string, Tool>, tool: Tool, key: string): void {
  if (tools.has(tool.name)) {
    throw new ConfigError(
      key,
      `there are two tools "${tool.name}"`,
      'Set "prefix", or name the tools you want by "only"',
    )
  }
  tools.set(tool.name, tool)
}

async function listAllowedTools(
  connection: McpConnection,
  config: McpServerConfig,
  key: string,
): Promise<readonly Tool[]> {
  const tools = await fetchAllTools(connection).catch((cause: Error) => {
    const reason = `the MCP server "${connection.name}" does not answer (${cause.message})`
    throw new ConfigError(key, reason, 'Start it, or correct how it is reached', { cause })
  })
  const { only, prefix = '' } = config
  const missingName = only?.find(name => !tools.some(tool => tool.name === name))
  if (missingName !== undefined) {
    const fix = `Name some of: ${tools.map(({ name }) => name).join(', ')}`
    throw new ConfigError(`${key}.only`, `the server has no tool "${missingName}"`, fix)
  }
  return tools
    .filter(({ name }) => !only || only.includes(name))
    .map(tool => toTool(tool, { connection, name: toToolName(prefix + tool.name) }))
}

function fetchAllTools(connection: McpConnection) {
  return connection.use(async client => {
    const listedTools: Awaited<ReturnType<typeof client.listTools>>['tools'] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor })
      listedTools.push(...tools)
      if (listedTools.length > maxTools) throw new Error(`it has more than ${maxTools} tools`)
      if (nextCursor === undefined) return listedTools
      cursor = nextCursor
    }
    throw new Error('its list of tools has no end')
  })
}

/** Endpoints of models accept only letters, digits, `_` and `-`, and at most 64 of them. */
const toToolName = (name: string) => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)

interface ToolConnection {
  readonly connection: McpConnection
  /** The name under which the model calls the tool. */
  readonly name: string
}

function toTool(
  mcpTool: Awaited<ReturnType<typeof fetchAllTools>>[number],
  { connection, name }: ToolConnection,
): Tool {
  const parameters = readVisibleValue(mcpTool.inputSchema).value as Tool['parameters']
  return {
    name,
    description: readVisibleText(mcpTool.description ?? mcpTool.title ?? mcpTool.name).text,
    parameters,
    findFault: createRelaxedArgumentCheck(parameters),
    async run(args, { signal }) {
      const params = { name: mcpTool.name, arguments: args as Record<string, unknown> }
      const options = { signal, timeout: maxTimeoutMs, resetTimeoutOnProgress: false }
      return readToolResult(await connection.use(client => client.callTool(params, undefined, options)))
    },
  }
}

/**
 * Opens the check of arguments against the schema without its regular expressions. A schema that cannot be read does not exclude its tool, because
 * the server checks its arguments itself.
 */
function createRelaxedArgumentCheck(parameters: Tool['parameters']): FindArgumentFault {
  try {
    return createArgumentCheck(relaxSchema(parameters))
  } catch {
    return createArgumentCheck({})
  }
}
