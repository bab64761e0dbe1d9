// Opens the agents of a configuration with the real clock and network.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createGuardedFetch } from '@postern/http'
import type { NormalizedMessage } from '@postern/message'
import { createSenderIdentity, createTransportEvidence, noLog, normalizedMessageSchema } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { createRequirementList } from '@postern/pipeline'
import type { AgentConfigInput, AgentDeps, AgentSystem } from '../src/index.ts'
import { openAgents } from '../src/index.ts'

/** A system with the real clock and network. Private addresses are allowed only for the origin that `fetchFor` names. */
export const testSystem: AgentSystem = {
  now: Date.now,
  randomBytes,
  sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => {}),
  fetchFor: origin => createGuardedFetch({ allowPrivate: [origin], userAgent: 'Postern tests' }),
}

export interface AgentGatewayOptions {
  readonly defaultAgent?: string
  readonly baseDir?: string
  readonly system?: Partial<AgentSystem>
}

export function openAgentGateway(
  agents: Readonly<Record<string, AgentConfigInput>>,
  { defaultAgent, baseDir = import.meta.dirname, system = {} }: AgentGatewayOptions = {},
): Promise<AgentDeps> {
  return openAgents(
    { agents, default_agent: defaultAgent },
    {
      domain: 'agents.test',
      origin: 'https://agents.test',
      version: '1.2.3',
      system: { ...testSystem, ...system },
      baseDir,
      log: noLog,
    },
  )
}

/** Opens a gateway with one agent, and returns that agent. */
export async function openTestAgent(config: AgentConfigInput, options: AgentGatewayOptions = {}) {
  const gateway = await openAgentGateway({ subject: config }, options)
  const running = gateway.findRunning('subject')
  if (!running) throw new Error('the gateway is empty')
  return { ...running, close: () => gateway.close() }
}

export function testMessage(text: string, members: Partial<NormalizedMessage> = {}): NormalizedMessage {
  return normalizedMessageSchema.parse({
    id: 'https://peer.test/activities/1',
    thread_id: 'https://peer.test/contexts/1',
    sender: { address: '@alice@peer.test', auth_method: 'none', verified: false },
    recipient: '@subject@agents.test',
    parts: [{ kind: 'text', mime: 'text/plain', content: text }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'a2a',
    received_at: '2026-01-01T00:00:00.000Z',
    raw: { as: 'it came' },
    ...members,
  })
}

export const aliceSender: NormalizedMessage['sender'] = {
  address: '@alice@peer.test',
  auth_method: 'ap-http-signature',
  verified: true,
  key_id: 'https://peer.test/users/alice#main-key',
  identities: [
    createTransportEvidence({
      method: 'ap-http-signature',
      subject: 'https://peer.test/users/alice',
      issuer: 'peer.test',
      assurance: 'address',
      audience: '@subject@agents.test',
      issuedAt: '2026-01-01T00:00:00.000Z',
      keyId: 'https://peer.test/users/alice#main-key',
    }),
  ],
}

export function testContext(members: Partial<AgentContext> = {}): AgentContext {
  return {
    signal: new AbortController().signal,
    history: () => ({ turns: [] }),
    attachment: async () => ({ bytes: new Uint8Array() }),
    state: { get: async () => undefined, set() {} },
    identity: createSenderIdentity({}),
    isPublic: async () => false,
    log: noLog,
    call: async () => {
      throw new Error('nobody is there to be called')
    },
    correlationId: 'c0ffee',
    responseId: 'response-1',
    post: () => 'post-1',
    reply: async () => 'reply-1',
    edit: async () => undefined,
    delete: async () => undefined,
    react: async () => undefined,
    note() {},
    stage() {},
    ...createRequirementList(
      { origin: 'https://agents.test', ttlMs: 3_600_000, stateOf: id => `state of ${id}`, digestOf: state => state },
      { now: () => Date.UTC(2026, 0, 1), randomBytes: count => new Uint8Array(count) },
    ),
    ...members,
  }
}
