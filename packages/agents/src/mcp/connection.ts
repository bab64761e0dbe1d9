import { ReadableStream } from 'node:stream/web'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { FetchRequest, Log, OpenStream } from '@postern/core'
import type { AgentPlatform } from '../kind/agent-kind.ts'
import type { McpServerConfig } from './config.ts'

/** A server that is connected when it is needed, and anew after it has gone away. */
export interface McpConnection {
  /** What the log and errors call it. */
  readonly name: string
  use<Result>(work: (client: Client) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

interface ConnectionDeps {
  readonly platform: Pick<AgentPlatform, 'fetchFor'>
  /** Where a command is started. */
  readonly baseDir: string
  readonly log: Log
}

const connectMs = 30_000
const software = { name: 'postern', version: '1' }

export function createMcpConnection(config: McpServerConfig, deps: ConnectionDeps): McpConnection {
  const name = 'command' in config ? [config.command, ...config.args].join(' ') : config.url
  let current: Promise<Client> | undefined

  async function connect(): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const client = new Client(software)
    const forget = () => {
      if (current === connecting) current = undefined
    }
    client.onclose = forget
    const connecting = current
    await client.connect(await openTransport(config, deps, name), { timeout: connectMs })
    return client
  }

  function find(): Promise<Client> {
    if (current) return current
    const opened = Promise.resolve().then(connect)
    current = opened
    // The next use tries again.
    opened.catch(() => {
      if (current === opened) current = undefined
    })
    return opened
  }

  return {
    name,
    async use(work) {
      const client = await find()
      try {
        return await work(client)
      } catch (error) {
        if (!isSessionOver(error)) throw error
        current = undefined
        await client.close()
        return work(await find())
      }
    },
    async close() {
      const client = await current?.catch(() => undefined)
      current = undefined
      await client?.close()
    },
  }
}

/**
 * The server has forgotten the session, because it was started anew or is done with it: 404 by the specification (MCP 2025-11-25,
 * basic/transports §Session Management), 400 by servers that are made like the examples of the SDK. Either way it has not run the call.
 */
const isSessionOver = (error: unknown) => [400, 404].includes(Number((error as { readonly code?: unknown }).code))

async function openTransport(
  config: McpServerConfig,
  { platform, baseDir, log }: ConnectionDeps,
  name: string,
): Promise<Transport> {
  if ('command' in config) {
    const { getDefaultEnvironment, StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
    const { command, args, env } = config
    const merged = { ...getDefaultEnvironment(), ...env }
    const transport = new StdioClientTransport({ command, args, env: merged, cwd: baseDir, stderr: 'pipe' })
    transport.stderr?.on('data', chunk => log.debug({ mcp: name, text: String(chunk).slice(0, 2_000) }, 'MCP server'))
    return transport
  }
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const url = new URL(config.url)
  const { openStream } = platform.fetchFor(url.origin)
  const headers = config.api_key === undefined ? {} : { authorization: `Bearer ${config.api_key}` }
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: createMcpFetch(openStream),
    requestInit: { headers },
  })
  // The SDK's own types do not agree on an absent session (exactOptionalPropertyTypes).
  return transport as Transport
}

/** Bytes of one answer at most. */
const maxBytes = 16 * 1024 * 1024
/** Longest pause in an answer: tools may work for minutes, ms. */
const idleMs = 10 * 60_000
const beginMs = 60_000

const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * The guarded fetch in the form that the SDK takes. A server is not listened to between calls: it is told that we take no stream by GET
 * (405), which the specification allows.
 */
function createMcpFetch(openStream: OpenStream): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init
    if (method === 'GET') return new Response(null, { status: 405 })
    if (body !== undefined && body !== null && typeof body !== 'string') throw new TypeError('Only text can be sent')
    const answer = await openStream(String(input), {
      method: method as NonNullable<FetchRequest['method']>,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
      timeoutMs: beginMs,
      idleMs,
      maxBytes,
    })
    const { status } = answer
    if (!emptyStatuses.has(status)) {
      return new Response(ReadableStream.from(answer.body) as BodyInit, { status, headers: answer.headers })
    }
    return new Response(null, { status, headers: answer.headers })
  }
}
