import { ConfigError, loadOptional, Rejection } from '@postern/core'
import { z } from 'zod'
import type { ToolRules } from '../config/approval.ts'
import type { Opening } from '../kind/agent-kind.ts'
import type { FindArgumentFault, Tool, Toolbox } from '../tools/tools.ts'
import { createArgumentCheck, openToolbox, selectTools } from '../tools/tools.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnection } from './connection.ts'
import { createMcpConnection } from './connection.ts'

interface ToolSources {
  /** Path of a module. */
  readonly tools?: string | undefined
  readonly mcp: readonly McpServerConfig[]
  readonly tool_policies: ToolRules
}

/** Tools of one server at most, and pages of their list. */
const maxTools = 200
const maxPages = 20
/** A tool may work as long as the turn has time. */
const longestMs = 2 ** 31 - 1

/** The tools that one agent may call: those of its module, and those of its MCP servers, which are connected now. @throws ConfigError */
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
      const place = `${key}.mcp.${index}`
      for (const tool of await listTools(connection, mcp[index] as McpServerConfig, place)) addTool(tools, tool, place)
    }
    return { tools: selectTools(tools, tool_policies, `${key}.tool_policies`), close }
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
    const found: Awaited<ReturnType<typeof client.listTools>>['tools'] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor })
      found.push(...tools)
      if (found.length > maxTools) throw new Error(`it has more than ${maxTools} tools`)
      if (nextCursor === undefined) return found
      cursor = nextCursor
    }
    throw new Error('its list of tools has no end')
  })
}

/** Endpoints of models take letters, digits, `_` and `-`, 64 of them at most. */
const nameTool = (name: string) => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)

interface ToolPlace {
  readonly connection: McpConnection
  /** What the model calls it. */
  readonly name: string
}

function toTool(listed: Awaited<ReturnType<typeof listAll>>[number], { connection, name }: ToolPlace): Tool {
  const parameters = listed.inputSchema as Tool['parameters']
  return {
    name,
    description: listed.description ?? listed.title ?? listed.name,
    parameters,
    findFault: openCheck(parameters),
    async run(args, { signal }) {
      const params = { name: listed.name, arguments: args as Record<string, unknown> }
      const options = { signal, timeout: longestMs, resetTimeoutOnProgress: false }
      return readToolResult(await connection.use(client => client.callTool(params, undefined, options)))
    },
  }
}

/** The server checks its arguments itself: a schema that we cannot read is no reason to do without its tool. */
function openCheck(parameters: Tool['parameters']): FindArgumentFault {
  try {
    return createArgumentCheck(parameters)
  } catch {
    return createArgumentCheck({})
  }
}

/** Content that a tool returns (MCP 2025-11-25, server/tools §Tool Result). */
const contentSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  resource: z.looseObject({ uri: z.string(), text: z.string().optional(), mimeType: z.string().optional() }).optional(),
})

const resultSchema = z.looseObject({
  content: z.array(contentSchema).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

type Content = z.infer<typeof contentSchema>

/** Characters of an error that a model is told. */
const maxError = 2_000

/** What a model is told of a result: the structured one if there is one, else text. @throws Rejection when the tool says that it failed */
export function readToolResult(value: unknown): unknown {
  const { content, structuredContent, isError } = resultSchema.parse(value)
  const text = content.map(describeContent).join('\n')
  if (isError) throw new Rejection('malformed', text.slice(0, maxError) || 'The tool failed.')
  return structuredContent ?? text
}

/** Bytes are named only: a model reads text. */
function describeContent({ type, text, data, mimeType, uri, name, resource }: Content): string {
  if (type === 'text') return text ?? ''
  if (type === 'resource') return resource?.text ?? `[${resource?.uri}, ${resource?.mimeType ?? 'unknown type'}]`
  if (type === 'resource_link') return `[${name ?? 'a resource'}: ${uri}]`
  const bytes = Math.floor(((data?.length ?? 0) * 3) / 4)
  return `[${type}, ${mimeType ?? 'unknown type'}, ${bytes} bytes]`
}
