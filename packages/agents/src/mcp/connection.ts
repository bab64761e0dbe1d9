// Connects to an MCP server on first use, and reconnects after the connection or session is lost.
import { ReadableStream } from 'node:stream/web'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JsonSchemaType } from '@modelcontextprotocol/sdk/validation'
import type { FetchRequest, Log, OpenStream } from '@postern/message'
import type { AgentSystem } from '../kind/agent-kind.ts'
import type { McpServerConfig } from './config.ts'
import { relaxSchema } from './relax-schema.ts'

/** A server that is connected on first use, and reconnected after the connection is lost. */
export interface McpConnection {
  /** The name in the log and in errors. */
  readonly name: string
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

interface ConnectionDeps {
  readonly system: Pick<AgentSystem, 'fetchFor'>
  /** The folder in which a command is started. */
  readonly baseDir: string
  readonly log: Log
}

const connectTimeoutMs = 30_000
const software = { name: 'postern', version: '1' }

export function createMcpConnection(config: McpServerConfig, deps: ConnectionDeps): McpConnection {
  const name = 'command' in config ? nameCommand(config) : config.url
  let currentClient: Promise<Client> | undefined

  async function connect(): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const client = new Client(software, { jsonSchemaValidator: await openResultValidator() })
    const forgetConnection = () => {
      if (currentClient === currentConnection) currentClient = undefined
    }
    client.onclose = forgetConnection
    const currentConnection = currentClient
    await client.connect(await openTransport(config, deps, name), { timeout: connectTimeoutMs })
    return client
  }

  function findClient(): Promise<Client> {
    if (currentClient) return currentClient
    const newConnection = Promise.resolve().then(connect)
    currentClient = newConnection
    // A failed connection is dropped, so the next use tries again.
    newConnection.catch(() => {
      if (currentClient === newConnection) currentClient = undefined
    })
    return newConnection
  }

  return {
    name,
    async use(work) {
      const client = await findClient()
      try {
        return await work(client)
      } catch (error) {
        if (!(await isSessionOver(error))) throw error
        currentClient = undefined
        await client.close()
        return work(await findClient())
      }
    },
    async close() {
      const client = await currentClient?.catch(() => undefined)
      currentClient = undefined
      await client?.close()
    },
  }
}

/** Names a server by its command and its package or script. Other arguments may be secrets, which no log and no error may show. */
function nameCommand({ command, args }: Extract<McpServerConfig, { command: string }>): string {
  const [firstArgument] = /^(-y|--yes)$/.test(args[0] ?? '') ? args.slice(1) : args
  return firstArgument === undefined || /^-|=/.test(firstArgument) ? command : `${command} ${firstArgument}`
}

/** Opens the validation of results against the schema that the server has declared for them. */
async function openResultValidator() {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv')
  const validator = new AjvJsonSchemaValidator()
  return {
    getValidator: <Result>(schema: JsonSchemaType) =>
      validator.getValidator<Result>(relaxSchema(schema) as JsonSchemaType),
  }
}

const lostSessionStatuses: ReadonlySet<unknown> = new Set([400, 404])

/**
 * Returns true if the server has lost the session because it restarted or ended the session. The transport answers 404 by the specification
 * (MCP 2025-11-25, basic/transports §Session Management), and servers modelled on the SDK's examples answer 400. In both cases the call has not
 * run. A JSON-RPC error with such a code comes from a tool that has run.
 */
async function isSessionOver(error: unknown): Promise<boolean> {
  const { StreamableHTTPError } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  return error instanceof StreamableHTTPError && lostSessionStatuses.has(error.code)
}

async function openTransport(
  config: McpServerConfig,
  { system, baseDir, log }: ConnectionDeps,
  name: string,
): Promise<Transport> {
  if ('command' in config) {
    const { getDefaultEnvironment, StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
    const { command, args, env } = config
    const environment = { ...getDefaultEnvironment(), ...env }
    const transport = new StdioClientTransport({ command, args, env: environment, cwd: baseDir, stderr: 'pipe' })
    transport.stderr?.on('data', chunk => log.debug({ mcp: name, text: String(chunk).slice(0, 2_000) }, 'MCP server'))
    return transport
  }
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const url = new URL(config.url)
  const { openStream } = system.fetchFor(url.origin)
  const headers = config.api_key === undefined ? {} : { authorization: `Bearer ${config.api_key}` }
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: createMcpFetch(openStream),
    requestInit: { headers },
  })
  // The SDK's own types disagree about an absent session (exactOptionalPropertyTypes).
  return transport as Transport
}

/** The maximum size of one answer, bytes. */
const maxBytes = 16 * 1024 * 1024
/** The longest pause in an answer, ms. Tools may work for minutes. */
const idleMs = 10 * 60_000
const beginTimeoutMs = 60_000

const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Creates the guarded fetch in the form that the SDK expects. The client does not listen between calls: it refuses the stream by GET (405),
 * as the specification allows.
 */
function createMcpFetch(openStream: OpenStream): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init
    if (method === 'GET') return new Response(null, { status: 405 })
    if (body !== undefined && body !== null && typeof body !== 'string') throw new TypeError('Only text can be sent')
    const streamResponse = await openStream(String(input), {
      method: method as NonNullable<FetchRequest['method']>,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
      timeoutMs: beginTimeoutMs,
      idleMs,
      maxBytes,
    })
    const { status, headers: responseHeaders } = streamResponse
    const stream = ReadableStream.from(streamResponse.body)
    if (!emptyStatuses.has(status)) return new Response(stream as BodyInit, { status, headers: responseHeaders })
    await stream.cancel()
    return new Response(null, { status, headers: responseHeaders })
  }
}
