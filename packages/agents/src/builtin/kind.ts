// Registers the agents that come with the gateway: `builtin:echo` and `builtin:help`.
import { createHash } from 'node:crypto'
import type { ArtifactPart, FilePart, NormalizedMessage } from '@postern/message'
import { isFilePart, Undeliverable } from '@postern/message'
import type { Agent, AgentAnswer, AgentChunk, AgentContext } from '@postern/pipeline'
import type { AgentKind, AgentOpenDeps, AgentSystem } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { readReceivedText } from '../kind/received-text.ts'
import { createEchoAgent } from './echo.ts'

interface Builtin {
  readonly displayName: string
  readonly description: string
  create(deps: AgentOpenDeps): Agent
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
    create: ({ system }) => createHelpAgent(system),
  },
}

/** `builtin:<name>`: agents that come with the gateway. */
export const builtinKinds: readonly AgentKind[] = Object.entries(builtins).map(([name, { create, ...profile }]) =>
  defineAgentKind({
    useNotation: `"builtin:${name}"`,
    usePattern: new RegExp(`^builtin:${name}$`),
    schema: commonAgentSchema,
    runsHere: true,
    isShareable: () => true,
    open: async (_config, deps) => ({ ...profile, agent: create(deps) }),
  }),
)

interface CommandCall {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  /** The text after the command. */
  readonly argument: string
  readonly system: Pick<AgentSystem, 'sleep'>
}

interface Command {
  readonly summary: string
  run(call: CommandCall): AgentAnswer | Promise<AgentAnswer> | AsyncIterable<AgentChunk>
}

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['help', { summary: 'this list', run: listCommands }],
  ['history', { summary: 'the earlier turns I was given', run: describeHistory }],
  ['attachments', { summary: 'what you attached, with size and SHA-256', run: describeAttachments }],
  ['file', { summary: 'a small text file', run: createNoteFile }],
  ['tool', { summary: 'a tool call, begun and ended, then its result', run: countWords }],
  ['refuse', { summary: 'a refusal', run: refuseRequest }],
  ['ask', { summary: 'a question back to you', run: askQuestionBack }],
  ['remember', { summary: 'keeps what follows, for this thread', run: rememberText }],
  ['recall', { summary: 'what I was told to remember', run: recallText }],
  ['slow', { summary: 'an answer that comes in pieces', run: answerSlowly }],
])

/** Creates a scripted agent that shows what an agent gets and how it can answer. */
function createHelpAgent(system: Pick<AgentSystem, 'sleep'>): Agent {
  return {
    handle(message, context) {
      const { word, argument } = readCommand(readReceivedText(message))
      const command = commands.get(word)
      return command ? command.run({ message, context, argument, system }) : formatShortHelp()
    },
  }
}

/** Reads the first word after any mentions at the beginning, and the text that follows on its line. */
function readCommand(text: string): { readonly word: string; readonly argument: string } {
  const [line = ''] = text
    .replace(/^(?:\s*@\S+)+/, '')
    .trim()
    .split('\n')
  const [word = ''] = line.split(/\s/, 1)
  // The word is cut before its punctuation is trimmed, because a long run of punctuation would take quadratic time.
  const commandWord = word.slice(0, 64).replace(/[.!?,:]+$/, '')
  return { word: commandWord.toLowerCase(), argument: line.slice(word.length).trim() }
}

function formatShortHelp(): string {
  return `I know these words: ${[...commands.keys()].join(', ')}. Say \`help\` for what they do.`
}

function listCommands(): string {
  return [...commands].map(([word, { summary }]) => `- \`${word}\`: ${summary}`).join('\n')
}

function describeHistory({ context }: CommandCall): string {
  const { turns, cacheBreakpointAfter } = context.history()
  const lines = turns.map(({ role, sender }, index) => `${index}. ${role} (${sender.address})`)
  return [`${turns.length} turns, cacheBreakpointAfter: ${cacheBreakpointAfter ?? 'none'}`, '', ...lines]
    .join('\n')
    .trim()
}

async function describeAttachments({ message, context }: CommandCall): Promise<string> {
  const files = message.parts.filter(isFilePart)
  if (files.length === 0) return 'There is no attachment.'
  const lines = await Promise.all(files.map(part => describeFile(part, context)))
  return lines.join('\n')
}

async function describeFile(part: FilePart | ArtifactPart, context: AgentContext): Promise<string> {
  const name = (part.name ?? 'unnamed').replace(/[`\p{Cc}]/gu, '')
  const attachment = await context.attachment(part).catch(error => {
    context.signal.throwIfAborted()
    if (error instanceof Undeliverable) return error.message
    throw error
  })
  if (typeof attachment === 'string') return `- \`${name}\`: ${attachment}`
  const { bytes, mime } = attachment
  const digest = createHash('sha256').update(bytes).digest('hex')
  return `- \`${name}\` (${mime ?? part.mime ?? 'unknown type'}): ${bytes.length} bytes, sha256 \`${digest}\``
}

function createNoteFile({ message }: CommandCall): AgentAnswer {
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

async function* countWords({ argument, context }: CommandCall): AsyncGenerator<AgentChunk> {
  const call = {
    kind: 'tool_call',
    id: `call-${context.correlationId}`,
    name: 'count_words',
    args: { text: argument },
  } as const
  yield call
  const wordCount = argument.split(/\s+/).filter(Boolean).length
  yield { ...call, result: { words: wordCount } }
  yield `I counted ${wordCount} ${wordCount === 1 ? 'word' : 'words'}.`
}

function refuseRequest(): AgentAnswer {
  const policy = { kind: 'forbidden', title: 'Refused', message: 'I was asked to refuse, so I do.' }
  return { status: 'rejected', parts: [{ kind: 'policy', policy }] }
}

function askQuestionBack(): AgentAnswer {
  const content = 'What is your favourite colour? Say `remember` and the colour.'
  return { status: 'input_required', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
}

function rememberText({ argument, context }: CommandCall): string {
  context.state.set({ remembered: argument })
  return argument ? 'I will remember that.' : 'I will remember nothing.'
}

async function recallText({ context }: CommandCall): Promise<string> {
  const state = (await context.state.get()) as { readonly remembered?: string } | undefined
  return state?.remembered ? `You told me: ${state.remembered}` : 'You told me nothing.'
}

async function* answerSlowly({ context, system }: CommandCall): AsyncGenerator<AgentChunk> {
  for (const piece of ['One, ', 'two, ', 'three.']) {
    yield piece
    await system.sleep(150, context.signal)
    context.signal.throwIfAborted()
  }
}
