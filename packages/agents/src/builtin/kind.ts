import { createHash } from 'node:crypto'
import type {
  Agent,
  AgentAnswer,
  AgentChunk,
  AgentContext,
  ArtifactPart,
  FilePart,
  NormalizedMessage,
} from '@postern/core'
import { isFilePart } from '@postern/core'
import type { AgentKind, AgentPlatform, Opening } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { createEchoAgent, readReceivedText } from '../kind/running-agents.ts'

interface Builtin {
  readonly displayName: string
  readonly description: string
  create(opening: Opening): Agent
}

const builtins: Readonly<Record<string, Builtin>> = {
  echo: {
    displayName: 'Echo',
    description: 'Says back what it heard, and how it was proven who said it',
    create: createEchoAgent,
  },
  help: {
    displayName: 'Help',
    description: 'Shows what an agent is given and what it can answer; say "help"',
    create: ({ platform }) => createHelpAgent(platform),
  },
}

/** `builtin:<name>`: agents that come with the gateway. */
export const builtinKinds: readonly AgentKind[] = Object.entries(builtins).map(([name, { create, ...shown }]) =>
  defineAgentKind({
    usage: `"builtin:${name}"`,
    uses: new RegExp(`^builtin:${name}$`),
    schema: commonAgentSchema,
    runsHere: true,
    open: async (_config, opening) => ({ ...shown, agent: create(opening) }),
  }),
)

interface Call {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  /** The text after the command. */
  readonly rest: string
  readonly platform: Pick<AgentPlatform, 'sleep'>
}

interface Command {
  readonly summary: string
  run(call: Call): AgentAnswer | Promise<AgentAnswer> | AsyncIterable<AgentChunk>
}

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['help', { summary: 'this list', run: listCommands }],
  ['history', { summary: 'the earlier turns I was given', run: describeHistory }],
  ['attachments', { summary: 'what you attached, with size and SHA-256', run: describeAttachments }],
  ['file', { summary: 'a small text file', run: makeFile }],
  ['tool', { summary: 'a tool call, begun and ended, then its result', run: countWords }],
  ['refuse', { summary: 'a refusal', run: refuseRequest }],
  ['ask', { summary: 'a question back to you', run: askBack }],
  ['remember', { summary: 'keeps what follows, for this thread', run: rememberText }],
  ['recall', { summary: 'what I was told to remember', run: recallText }],
  ['slow', { summary: 'an answer that comes in pieces', run: answerSlowly }],
])

/** A scripted agent that shows what an agent gets and how it can answer. */
function createHelpAgent(platform: Pick<AgentPlatform, 'sleep'>): Agent {
  return {
    handle(message, context) {
      const { word, rest } = readCommand(readReceivedText(message))
      const command = commands.get(word)
      return command ? command.run({ message, context, rest, platform }) : shortHelp()
    },
  }
}

/** The first word after any mentions at the beginning, and what follows it on its line. */
function readCommand(text: string): { readonly word: string; readonly rest: string } {
  const [line = ''] = text
    .replace(/^(?:\s*@\S+)+/, '')
    .trim()
    .split('\n')
  const [word = ''] = line.split(/\s/, 1)
  // Only the end of a word that may be ours, because a long run of marks must not cost quadratic time.
  const spoken = word.slice(0, 64).replace(/[.!?,:]+$/, '')
  return { word: spoken.toLowerCase(), rest: line.slice(word.length).trim() }
}

function shortHelp(): string {
  return `I know these words: ${[...commands.keys()].join(', ')}. Say \`help\` for what they do.`
}

function listCommands(): string {
  return [...commands].map(([word, { summary }]) => `- \`${word}\`: ${summary}`).join('\n')
}

function describeHistory({ context }: Call): string {
  const { turns, cacheBreakpointAfter } = context.history()
  const lines = turns.map(({ role, sender }, index) => `${index}. ${role} (${sender.address})`)
  return [`${turns.length} turns, cacheBreakpointAfter: ${cacheBreakpointAfter ?? 'none'}`, '', ...lines]
    .join('\n')
    .trim()
}

async function describeAttachments({ message, context }: Call): Promise<string> {
  const files = message.parts.filter(isFilePart)
  if (files.length === 0) return 'There is no attachment.'
  const lines = await Promise.all(files.map(part => describeFile(part, context)))
  return lines.join('\n')
}

async function describeFile(part: FilePart | ArtifactPart, context: AgentContext): Promise<string> {
  const { bytes, mime } = await context.attachment(part)
  const digest = createHash('sha256').update(bytes).digest('hex')
  const name = (part.name ?? 'unnamed').replace(/[`\p{Cc}]/gu, '')
  return `- \`${name}\` (${mime ?? part.mime ?? 'unknown type'}): ${bytes.length} bytes, sha256 \`${digest}\``
}

function makeFile({ message }: Call): AgentAnswer {
  const bytes = Buffer.from(`Made for ${message.sender.address}\nin answer to ${message.id}\n`)
  const file: FilePart = {
    kind: 'file',
    name: 'note.txt',
    mime: 'text/plain',
    size: bytes.length,
    bytes_ref: { kind: 'inline', data_base64: bytes.toString('base64') },
  }
  return { parts: [{ kind: 'text', mime: 'text/markdown', content: 'Here is your file.' }, file] }
}

async function* countWords({ rest, context }: Call): AsyncGenerator<AgentChunk> {
  const call = {
    kind: 'tool_call',
    id: `call-${context.correlationId}`,
    name: 'count_words',
    args: { text: rest },
  } as const
  yield call
  const words = rest.split(/\s+/).filter(Boolean).length
  yield { ...call, result: { words } }
  yield `I counted ${words} ${words === 1 ? 'word' : 'words'}.`
}

function refuseRequest(): AgentAnswer {
  const policy = { kind: 'forbidden', title: 'Refused', message: 'I was asked to refuse, so I do.' }
  return { status: 'rejected', parts: [{ kind: 'policy', policy }] }
}

function askBack(): AgentAnswer {
  const content = 'What is your favourite colour? Say `remember` and the colour.'
  return { status: 'input_required', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
}

function rememberText({ rest, context }: Call): string {
  context.state.set({ remembered: rest })
  return rest ? 'I will remember that.' : 'I will remember nothing.'
}

async function recallText({ context }: Call): Promise<string> {
  const state = (await context.state.get()) as { readonly remembered?: string } | undefined
  return state?.remembered ? `You told me: ${state.remembered}` : 'You told me nothing.'
}

async function* answerSlowly({ context, platform }: Call): AsyncGenerator<AgentChunk> {
  for (const piece of ['One, ', 'two, ', 'three.']) {
    yield piece
    await platform.sleep(150, context.signal)
    context.signal.throwIfAborted()
  }
}
