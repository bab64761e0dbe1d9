// Runs the example connector beside a gateway, and logs visitors in to its chat rooms.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageRecord, MessageSummary } from '@postern/pipeline'
import { findFreePort } from '@postern/testing/free-port'
import { parseConfig } from 'postern/config'
import type { Gateway } from 'postern/gateway'
import { openGateway } from 'postern/gateway'
import { createLog } from 'postern/log'
import type { ConnectorConfig } from '../src/config.ts'
import { defaultLimits } from '../src/config.ts'
import type { Connector } from '../src/connector.ts'
import { openConnector } from '../src/connector.ts'
import { memberMethod, tokenSubject } from '../src/issuer/vouch.ts'
import type { Visitor } from './visitor.ts'
import { createVisitor } from './visitor.ts'

const connectorOrigin = 'https://chat.test'
export const mallory = 'mallory.test'
const operatorToken = 'operator-token-of-the-tests'

export interface ConnectorGateway {
  readonly connector: Connector
  readonly config: ConnectorConfig
  readonly gatewayUrl: string
  readonly directory: string
  /** Logs another visitor in to the chat room. */
  logIn(name: string): Promise<Visitor>
  /** Lists the messages of the gateway as its operator sees them, newest first. */
  messages(): Promise<readonly MessageRecord[]>
  stopGateway(): Promise<void>
  startGateway(): Promise<void>
  close(): Promise<void>
}

export interface ChatOptions extends Partial<Pick<ConnectorConfig, 'credentials' | 'limits'>> {
  readonly prefixes?: readonly string[]
  readonly issuers?: readonly string[]
  /** Origins whose tokens the gateway accepts as those of a connector. */
  readonly connectors?: readonly string[]
  /** The `limits` in the configuration of the gateway. */
  readonly gatewayLimits?: Readonly<Record<string, number>>
  /** The clock of the chat room, ms since 1970; default: the system's clock. */
  readonly now?: () => number
}

/** Opens a gateway and a chat room that run in this process and talk over real sockets. */
export async function openConnectorGateway(options: ChatOptions = {}): Promise<ConnectorGateway> {
  const { prefixes = ['room:'], issuers = ['chat.test', 'did:web:chat.test'], connectors = [connectorOrigin] } = options
  const { credentials = false, limits = defaultLimits, gatewayLimits = {}, now } = options
  const directory = mkdtempSync(join(tmpdir(), 'postern-chat-'))
  const [gatewayPort, chatPort] = [await findFreePort(), await findFreePort()]
  const log = createLog({ level: 'silent', readable: false })
  const trust = { methods: [memberMethod], assurance: ['platform'], subject_prefixes: prefixes }
  const gatewayConfig = {
    origin: 'https://agents.test',
    listen: { port: gatewayPort },
    data: join(directory, 'data'),
    dev: true,
    operator_token: operatorToken,
    agents: {
      teller: { use: './agents/teller.ts' },
      ping: { use: './agents/ping.ts' },
      pong: { use: './agents/ping.ts' },
      convener: { use: './agents/convener.ts' },
      holder: { use: './agents/holder.ts' },
      asker: { use: './agents/asker.ts' },
      clerk: { use: '../agents/clerk.ts' },
      echo: { use: 'builtin:echo' },
    },
    identity: {
      trusted_issuers: issuers.map(issuer => ({ issuer, ...trust })),
      connectors: connectors.map(issuer => ({ issuer, subject: tokenSubject })),
    },
    a2a: {
      auth: {
        issuers: ['chat.test', mallory].map(host => ({
          issuer: `https://${host}`,
          jwks: `https://${host}/.well-known/jwks.json`,
          audience: 'https://agents.test',
          algorithms: ['EdDSA'],
        })),
      },
    },
    payments: { use: 'builtin:test' },
    network: { loopback: { 'chat.test': chatPort, [mallory]: chatPort } },
    limits: gatewayLimits,
    log: { level: 'silent' },
  }
  const config: ConnectorConfig = {
    origin: connectorOrigin,
    host: '127.0.0.1',
    port: chatPort,
    name: 'Chat room',
    keyFile: join(directory, 'keys.json'),
    agentsDomain: 'agents.test',
    credentials,
    dev: true,
    loopback: { 'agents.test': gatewayPort },
    behindProxy: false,
    limits,
  }
  const connector = await openConnector(config, { log, now })
  await connector.listen()
  const gatewayUrl = `http://127.0.0.1:${gatewayPort}`
  let gateway: Gateway

  async function startGateway(): Promise<void> {
    gateway = await openGateway(parseConfig(gatewayConfig), { baseDir: import.meta.dirname, log, operatorToken })
    await gateway.start()
  }

  async function requestOperator<Answer>(path: string): Promise<Answer> {
    const response = await fetch(`${gatewayUrl}/operator/api${path}`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    })
    return (await response.json()) as Answer
  }

  await startGateway()
  return {
    connector,
    config,
    gatewayUrl,
    directory,
    logIn: name => createVisitor(`http://127.0.0.1:${chatPort}`, name),
    async messages() {
      const { items: messages } = await requestOperator<{ items: readonly MessageSummary[] }>('/messages?limit=100')
      return Promise.all(
        messages.map(({ id }) => requestOperator<MessageRecord>(`/messages/${encodeURIComponent(id)}`)),
      )
    },
    stopGateway: () => gateway.stop(),
    startGateway,
    async close() {
      await connector.close()
      await gateway.stop()
      rmSync(directory, { recursive: true })
    },
  }
}
