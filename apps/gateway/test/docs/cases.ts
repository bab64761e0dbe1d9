import type { CodeBlock } from './blocks.ts'
import { readCodeBlocks } from './blocks.ts'

/** Which test runs which block: the page, and words that only this block of the page has. */
type BlockName = readonly [page: string, mark: string]

/** JSON that is the configuration, or a part of it, by where that part belongs. */
export const configBlocks: readonly (readonly [...BlockName, place: string])[] = [
  ['docs/explanation/identity/a2a.md', '"require_at_jwt"', ''],
  ['docs/explanation/a2a/elsewhere.md', '// one/postern.config.json', ''],
  ['docs/explanation/a2a/elsewhere.md', '// two/postern.config.json', ''],
  ['docs/explanation/a2a/versions.md', '"grpc"', ''],
  ['docs/agents.md', '"use": "openai"', ''],
  ['docs/agents.md', '"use": "swarm"', 'agents/shop'],
  ['docs/agents.md', '"data_limits"', 'agents/shop'],
  ['docs/agents.md', 'server-filesystem', 'agents/model'],
  ['docs/configuration.md', '"checkout_url"', ''],
  ['docs/connectors.md', '"trusted_issuers"', ''],
  ['docs/explanation/agents/swarms.md', '"data_limits"', 'agents/shop'],
  ['docs/explanation/identity/people.md', '"share"', ''],
  ['docs/explanation/identity/evidence.md', '"trusted_issuers"', ''],
  ['docs/explanation/identity/access.md', '"deny"', ''],
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
  ['docs/explanation/identity/evidence.md', '"signed-attestation"'],
  ['docs/explanation/identity/evidence.md', '"previous_keys"'],
]

export const agentBlocks = {
  streaming: ['docs/agents.md', 'Looking that up… '],
  acting: ['docs/agents.md', 'untilNine'],
  asking: ['docs/agents.md', 'requireConsent'],
  tool: ['docs/agents.md', 'opening_hours'],
  swarmTool: ['docs/agents.md', '// ./computes.ts'],
  refusing: ['docs/explanation/identity/access.md', 'context.refuse'],
} as const satisfies Readonly<Record<string, BlockName>>

export const libraryBlocks = {
  codecs: ['docs/explanation/transcripts/formats.md', 'envelopeCodec.read'],
  swarm: ['docs/explanation/transcripts/swarm-library.md', 'createSwarm('],
  webhook: ['docs/agents.md', 'hmac.compare_digest'],
  worker: ['docs/explanation/mail/receiving.md', 'setReject'],
} as const satisfies Readonly<Record<string, BlockName>>

export const commandBlocks = {
  start: ['README.md', 'npm install && npm start'],
  tests: ['README.md', 'npm install && npm test'],
  first: ['README.md', 'npx postern send'],
  export: ['docs/web.md', 'npx postern export'],
  call: ['docs/explanation/a2a/calling.md', 'message:send'],
  chat: ['docs/web.md', '/api/v1/agent/runs'],
  pipe: ['docs/explanation/mail/receiving.md', 'to-agents'],
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
