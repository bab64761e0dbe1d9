// Lists the code blocks of the docs by the test that checks them.
import type { CodeBlock } from './blocks.ts'
import { isCheckedByLanguage, readCodeBlocks } from './blocks.ts'

/** The name of a block: its page, and a text that only this block of the page contains. */
type BlockName = readonly [page: string, mark: string]

/** JSON that is the configuration or a part of it, with the place where that part belongs. */
export const configBlocks: readonly (readonly [...BlockName, parent?: 'agents/shop'])[] = [
  ['docs/explanation/identity/a2a.md', '"require_at_jwt"'],
  ['docs/explanation/a2a/elsewhere.md', '// one/postern.config.json'],
  ['docs/explanation/a2a/elsewhere.md', '// two/postern.config.json'],
  ['docs/explanation/a2a/versions.md', '"grpc"'],
  ['docs/explanation/a2a/versions.md', '"documentation_url"'],
  ['docs/explanation/a2a/elsewhere.md', '"oauth2"'],
  ['docs/explanation/a2a/elsewhere.md', '"credentials": "always" } }'],
  ['docs/guides/connectors.md', '"trusted_issuers"'],
  ['docs/explanation/agents/swarms.md', '"data_limits"', 'agents/shop'],
  ['docs/explanation/identity/people.md', '"share"'],
  ['docs/explanation/identity/evidence.md', '"trusted_issuers"'],
  ['docs/explanation/identity/access.md', '"deny"'],
  ['docs/explanation/agents/turns.md', '"isolate"'],
]

/** JSON that is sent over the network, grouped by its contents. */
export const wireBlocks: readonly BlockName[] = [
  ['docs/guides/webhook.md', '"recipient_capabilities"'],
  ['docs/guides/test.md', '"mcpServers"'],
  ['docs/guides/own-database.md', '"kind": "forget"'],
  ['docs/guides/a2a-callers.md', '"filename"'],
  ['docs/guides/connectors.md', 'SendStreamingMessage'],
  ['docs/guides/connectors.md', '"action_label"'],
  ['docs/guides/connectors.md', '"outcome": "granted"'],
  ['docs/explanation/identity/evidence.md', '"signed-attestation"'],
  ['docs/explanation/identity/evidence.md', '"previous_keys"'],
]

export const agentBlocks = {
  streaming: ['docs/guides/typescript.md', 'Looking that up… '],
  acting: ['docs/guides/stream-and-post.md', 'untilNine'],
  asking: ['docs/guides/consent-and-payment.md', 'requireConsent'],
  tool: ['docs/guides/tools.md', 'opening_hours'],
  swarmTool: ['docs/guides/swarm-data.md', '// ./till.ts'],
  swarmCompute: ['docs/guides/swarm-data.md', '// ./computes.ts'],
  refusing: ['docs/explanation/identity/access.md', 'context.refuse'],
} as const satisfies Readonly<Record<string, BlockName>>

export const libraryBlocks = {
  codecs: ['docs/explanation/transcripts/formats.md', 'envelopeCodec.read'],
  swarm: ['docs/explanation/transcripts/swarm-library.md', 'createSwarm('],
  webhook: ['docs/guides/python.md', 'hmac.compare_digest'],
  worker: ['docs/explanation/mail/receiving.md', 'setReject'],
} as const satisfies Readonly<Record<string, BlockName>>

export const commandBlocks = {
  start: ['README.md', 'npm install && npm start'],
  tests: ['README.md', 'npm install && npm test'],
  first: ['README.md', 'npx postern send'],
  export: ['docs/guides/export.md', 'npx postern export --format'],
  messageList: ['docs/guides/export.md', 'npx postern export --messages'],
  call: ['docs/explanation/a2a/calling.md', 'message:send'],
  chat: ['docs/guides/chat.md', '/api/v1/agent/runs'],
  pipe: ['docs/explanation/mail/receiving.md', 'to-agents'],
  redirect: ['docs/guides/configure.md', 'return 302'],
  remote: ['docs/guides/configure.md', 'POSTERN_URL=https'],
  mcp: ['docs/guides/test.md', '"mcpServers"'],
  telemetry: ['docs/guides/watch.md', 'npm install @opentelemetry/api'],
} as const satisfies Readonly<Record<string, BlockName>>

/** Code of programs and libraries that are not in the repository, which no test here can check. */
export const foreignBlocks: readonly BlockName[] = [
  ['docs/start/tutorial.md', 'reverse_proxy'],
  ['docs/guides/one-server.md', 'reverse_proxy'],
  ['docs/guides/mail.md', 'virtual_transport'],
  ['docs/guides/botkit.md', 'bot.onMention'],
  ['docs/guides/chat-sdk.md', '@chat-adapter/state-memory'],
  ['docs/guides/chat.md', '<postern-chat'],
  ['docs/guides/frameworks.md', '@langchain/langgraph'],
  ['docs/guides/frameworks.md', '@mastra/core'],
  ['docs/guides/slack.md', 'display_information'],
  ['docs/conformance/a2a.md', 'pip install'],
]

/** Returns the blocks that no test runs. */
export function listUntested(blocks: readonly CodeBlock[] = readCodeBlocks()): readonly CodeBlock[] {
  const names: readonly (readonly [string, string, ...unknown[]])[] = [
    ...foreignBlocks,
    ...configBlocks,
    ...wireBlocks,
    ...[agentBlocks, libraryBlocks, commandBlocks].flatMap(table => Object.values<BlockName>(table)),
  ]
  return blocks
    .filter(block => !isCheckedByLanguage(block))
    .filter(({ page, code }) => !names.some(([blockPage, mark]) => blockPage === page && code.includes(mark)))
}

/** Returns the JSON blocks of the pages for users that no list names: parts of a configuration, from its top level. */
export function listGuideConfigs(): readonly CodeBlock[] {
  const documentedBlocks = [...wireBlocks, ...configBlocks, ...foreignBlocks]
  return readCodeBlocks()
    .filter(isCheckedByLanguage)
    .filter(({ language }) => language.startsWith('json'))
    .filter(
      ({ page, code }) => !documentedBlocks.some(([blockPage, mark]) => blockPage === page && code.includes(mark)),
    )
}
