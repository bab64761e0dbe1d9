import type { CodeBlock } from './blocks.ts'
import { readCodeBlocks } from './blocks.ts'

/** Which test runs which block: the page, and words that only this block of the page has. */
type BlockName = readonly [page: string, mark: string]

/** JSON that is the configuration, or a part of it, by where that part belongs. */
export const configBlocks: readonly (readonly [...BlockName, place: string])[] = [
  ['README.md', '"default_agent": "desk"', ''],
  ['docs/a2a-trust.md', '"require_at_jwt"', ''],
  ['docs/a2a-trust.md', '// one/postern.config.json', ''],
  ['docs/a2a-trust.md', '// two/postern.config.json', ''],
  ['docs/a2a.md', '"grpc"', ''],
  ['docs/agents.md', '"use": "openai"', ''],
  ['docs/agents.md', '"use": "swarm"', 'agents/shop'],
  ['docs/agents.md', '"data_limits"', 'agents/shop'],
  ['docs/agents.md', 'server-filesystem', 'agents/model'],
  ['docs/configuration.md', '"checkout_url"', ''],
  ['docs/connectors.md', '"trusted_issuers"', ''],
  ['docs/identity.md', '"trusted_issuers"', ''],
  ['docs/identity.md', '"deny"', ''],
  ['docs/operating.md', '"telemetry"', ''],
  ['docs/people.md', '"share"', ''],
  ['docs/web.md', '"attachments"', ''],
]

/** JSON that goes over the wire, by what it shows. */
export const wireBlocks: readonly BlockName[] = [
  ['docs/agents.md', '"recipient_capabilities"'],
  ['docs/connectors.md', 'SendStreamingMessage'],
  ['docs/connectors.md', '"action_label"'],
  ['docs/connectors.md', '"outcome": "granted"'],
  ['docs/identity.md', '"signed-attestation"'],
  ['docs/identity.md', '"previous_keys"'],
]

export const agentBlocks = {
  readme: ['README.md', 'You said:'],
  streaming: ['docs/agents.md', 'Looking that up… '],
  acting: ['docs/agents.md', 'untilNine'],
  asking: ['docs/agents.md', 'requireConsent'],
  tool: ['docs/agents.md', 'opening_hours'],
  swarmTool: ['docs/agents.md', '// ./computes.ts'],
  refusing: ['docs/identity.md', 'context.refuse'],
} as const satisfies Readonly<Record<string, BlockName>>

export const libraryBlocks = {
  codecs: ['docs/transcript.md', 'envelopeCodec.read'],
  swarm: ['docs/transcript.md', 'createSwarm('],
  webhook: ['docs/agents.md', 'hmac.compare_digest'],
  worker: ['docs/email.md', 'setReject'],
} as const satisfies Readonly<Record<string, BlockName>>

export const commandBlocks = {
  start: ['README.md', 'npm install && npm start'],
  tests: ['README.md', 'npm install && npm test'],
  first: ['README.md', 'npx postern send'],
  export: ['docs/web.md', 'npx postern export'],
  call: ['docs/a2a.md', 'message:send'],
  chat: ['docs/web.md', '/api/v1/agent/runs'],
  pipe: ['docs/email.md', 'to-agents'],
  redirect: ['docs/configuration.md', 'return 302'],
  remote: ['docs/operating.md', 'POSTERN_URL=https'],
  mcp: ['docs/operating.md', '"mcpServers"'],
  telemetry: ['docs/operating.md', 'npm install @opentelemetry/api'],
} as const satisfies Readonly<Record<string, BlockName>>

/** Blocks that no test runs. */
export function listUntested(): readonly CodeBlock[] {
  const names: readonly (readonly [string, string, ...unknown[]])[] = [
    ...configBlocks,
    ...wireBlocks,
    ...[agentBlocks, libraryBlocks, commandBlocks].flatMap(table => Object.values<BlockName>(table)),
  ]
  return readCodeBlocks().filter(({ page, code }) => !names.some(([of, mark]) => of === page && code.includes(mark)))
}
