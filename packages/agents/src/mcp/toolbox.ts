// Collects the tools of one agent from its module and its MCP servers.
import { ConfigError, loadOptional, readVisibleText, readVisibleValue } from '@postern/message'
import type { ToolPolicies } from '../config/approval.ts'
import type { Opening } from '../kind/agent-kind.ts'
import { ruleTools } from '../tools/tool-rules.ts'
import type { FindArgumentFault, Tool, Toolbox } from '../tools/tools.ts'
import { createArgumentCheck, openToolbox } from '../tools/tools.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnection } from './connection.ts'
import { createMcpConnection } from './connection.ts'
import { loosenSchema } from './loose-schema.ts'
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
const longestMs = 2 ** 31 - 1

/** Opens the tools that one agent may call: those of its module, and those of its MCP servers, which it connects now. @throws ConfigError */
export async function openTools(
  { tools: path, mcp, tool_policies }: ToolSources,
  key: string,
  opening: Opening,
): Promise<Toolbox> {
  const module = path === undefined ? undefined : await openToolbox(path, `${key}.tools`, opening.baseDir)
  if (mcp.length > 0) {
    const library = { key: `${key}.mcp`, libraries: ['@modelcontextprotocol/sdk'] }
    await loadOptional(() => import('@modelcontextprotocol/sdk/client/index.js'), library)
  }
  const connections = mcp.map(config => createMcpConnection(config, opening))
  const close = async () => {
    await Promise.all([module?.close?.(), ...connections.map(connection => connection.close())])
  }
  const tools = new Map(module?.tools)
  try {
    for (const [index, connection] of connections.entries()) {
      const serverKey = `${key}.mcp.${index}`
      for (const tool of await listTools(connection, mcp[index] as McpServerConfig, serverKey))
        addTool(tools, tool, serverKey)
    }
    return { tools: ruleTools(tools, tool_policies, `${key}.tool_policies`), close }
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

async function listTools(connection: McpConnection, config: McpServerConfig, key: string): Promise<readonly Tool[]> {
  const listed = await listAll(connection).catch((cause: Error) => {
    const problem = `the MCP server "${connection.name}" does not answer (${cause.message})`
    throw new ConfigError(key, problem, 'Start it, or correct how it is reached', { cause })
  })
  const { only, prefix = '' } = config
  const missing = only?.find(name => !listed.some(tool => tool.name === name))
  if (missing !== undefined) {
    const fix = `Name some of: ${listed.map(({ name }) => name).join(', ')}`
    throw new ConfigError(`${key}.only`, `the server has no tool "${missing}"`, fix)
  }
  return listed
    .filter(({ name }) => !only || only.includes(name))
    .map(tool => toTool(tool, { connection, name: nameTool(prefix + tool.name) }))
}

function listAll(connection: McpConnection) {
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
const nameTool = (name: string) => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)

interface ToolConnection {
  readonly connection: McpConnection
  /** The name under which the model calls the tool. */
  readonly name: string
}

function toTool(listed: Awaited<ReturnType<typeof listAll>>[number], { connection, name }: ToolConnection): Tool {
  const parameters = readVisibleValue(listed.inputSchema).value as Tool['parameters']
  return {
    name,
    description: readVisibleText(listed.description ?? listed.title ?? listed.name).text,
    parameters,
    findFault: openCheck(parameters),
    async run(args, { signal }) {
      const params = { name: listed.name, arguments: args as Record<string, unknown> }
      const options = { signal, timeout: longestMs, resetTimeoutOnProgress: false }
      return readToolResult(await connection.use(client => client.callTool(params, undefined, options)))
    },
  }
}

/**
 * Opens the check of arguments against the schema without its regular expressions. A schema that cannot be read does not exclude its tool, because
 * the server checks its arguments itself.
 */
function openCheck(parameters: Tool['parameters']): FindArgumentFault {
  try {
    return createArgumentCheck(loosenSchema(parameters))
  } catch {
    return createArgumentCheck({})
  }
}
