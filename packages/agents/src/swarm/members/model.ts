// Answers for one member of a swarm with its model.
import type { Json, NormalizedMessage } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'
import { isAnswerSentWhole } from '@postern/pipeline'
import type { ModelAnswer, SwarmModel, ToolDescription } from '@postern/swarm'
import type { SwarmMessage, SwarmRole, SwarmToolCall } from '@postern/transcript'
import { toCallMessages } from '../../approval/decided-call.ts'
import { openCompletion } from '../../completion/completion.ts'
import { readReceivedText } from '../../kind/received-text.ts'
import type { ConnectedModel } from '../../openai/model-endpoint.ts'
import type { Delimiter } from '../../prompt/data-block.ts'
import { clipText, explainDataBlocks } from '../../prompt/data-block.ts'
import type { ChatMessage, ImageOrNote } from '../../prompt/messages.ts'
import { formatReceivedMessage } from '../../prompt/prompt.ts'
import { recordModelRequest } from '../../rounds/model-request.ts'
import type { Round } from '../../rounds/round.ts'
import { readRefusalText, readRound, toRecordChunks } from '../../rounds/round.ts'

/** A model, and whether it sees images. */
export interface MemberModel extends ConnectedModel {
  readonly seesImages: boolean
}

export interface ModelTurn {
  readonly context: Pick<AgentContext, 'signal' | 'responseId'>
  readonly received: Pick<ReceivedMessageDetails, 'message' | 'flags' | 'delimiter'>
  /** Reads the images of the message, once per turn. */
  readImages(): Promise<readonly ImageOrNote[]>
  /** True if the swarm checks for tool markup and asks again. */
  readonly checksMarkup: boolean
  /** Deadline of all model requests in the turn, ms since the epoch. */
  readonly endsAt: number
  /** Creates the id of a call. It is unique in the whole conversation, regardless of the model's own numbering. */
  createCallId(): string
  /** Records a refusal as the answer and returns its text. */
  refuse(text: string): string
  /** The faults of arguments that were no JSON object, keyed by the id of the call. */
  readonly argumentErrors: Map<string, string>
  /** Sends a chunk of the answer to observers. The store records it with the answer. */
  emit(chunk: AgentChunk): void
}

/** Creates the model of one member in one turn. Its text is sent in pieces, and the swarm decides which of them the user gets. */
export function createMemberModel({ endpoint, settings, seesImages }: MemberModel, turn: ModelTurn): SwarmModel {
  const { context, received, endsAt } = turn

  async function requestRound(
    messages: readonly ChatMessage[],
    tools: readonly ToolDescription[],
    onText: (piece: string) => void = () => {},
  ): Promise<Round> {
    const functions = tools.map(description => ({ type: 'function', function: description }))
    const body = { ...settings, messages, ...(functions.length > 0 && { tools: functions, tool_choice: 'auto' }) }
    const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - endpoint.system.now()) }
    const options = {
      reasoningHabit: endpoint.reasoningHabit,
      delimiter: received.delimiter,
      passesToolCalls: turn.checksMarkup,
      waitsForEnd: isAnswerSentWhole(context),
    }
    const pieces = readRound(openCompletion(body, endpoint, time), options)
    const round = await readWholeRound(recordModelRequest(pieces, endpoint, context), onText)
    for (const chunk of toRecordChunks(round, endpoint)) turn.emit(chunk)
    if (round.finishReason === 'length' && round.calls.length > 0)
      throw new Error('The model was cut off while it called a tool')
    return round
  }

  function toModelAnswer(round: Round): ModelAnswer {
    const isRefused = round.refusal.trim() !== '' || round.finishReason === 'content_filter'
    if (isRefused) return { content: turn.refuse(readRefusalText(round)) }
    const isCutOff = round.finishReason === 'length' && round.text.trim() !== ''
    const tool_calls = round.calls.map(call => readCall(call, turn))
    return { content: isCutOff ? `${round.text} […]` : round.text, tool_calls }
  }

  return {
    async complete(rows, tools, onText) {
      const images = seesImages ? await turn.readImages() : []
      return toModelAnswer(await requestRound(toChatMessages(rows, { ...received, images }), tools, onText))
    },
    async run(rows) {
      const { text, refusal } = await requestRound(toPlainMessages(rows), [])
      return { content: text || refusal }
    },
  }
}

async function readWholeRound(
  pieces: AsyncGenerator<string, Round, undefined>,
  onText: (piece: string) => void,
): Promise<Round> {
  for (;;) {
    const { done, value } = await pieces.next()
    if (done) return value
    onText(value)
  }
}

function readCall({ name, args }: Round['calls'][number], { createCallId, argumentErrors }: ModelTurn): SwarmToolCall {
  const id = createCallId()
  const parsedArgs = readArguments(args)
  if (!parsedArgs) argumentErrors.set(id, 'The arguments are not a JSON object.')
  return { id, type: 'function', function: { name, arguments: parsedArgs ?? {} } }
}

function readArguments(text: string): { readonly [name: string]: Json } | undefined {
  if (text.trim() === '') return {}
  const value = parseIfJson(text)
  return isJsonObject(value) ? (value as { readonly [name: string]: Json }) : undefined
}

const maxTextChars = 100_000

interface ReceivedMessageDetails {
  readonly message: NormalizedMessage
  readonly flags: readonly string[]
  readonly delimiter: Delimiter
  /** The images of the message, for a model that sees them. */
  readonly images?: readonly ImageOrNote[] | undefined
}

/**
 * Converts rows of the swarm to chat completion messages for a member's model: one system message, then the conversation, each call with
 * its result if there is one, which may come much later. The message to answer names its writer once, as for every model.
 */
function toChatMessages(rows: readonly SwarmMessage[], received: ReceivedMessageDetails): readonly ChatMessage[] {
  const text = readReceivedText(received.message)
  const lastUserIndex = rows.findLastIndex(row => row.role === 'user' && row.mode === 'user')
  // A rescue has removed the message itself. Its replacement ends with the same text.
  const replacementIndex =
    lastUserIndex < 0 ? rows.findLastIndex(row => row.role === 'user' && row.content.endsWith(text)) : -1
  const calls = new Map(rows.flatMap(({ tool_calls = [] }) => tool_calls.map(call => [call.id, call])))
  const endIndexes = new Map(rows.map((row, index) => [row.role === 'tool' ? row.tool_call_id : undefined, index]))
  // A hand-over repeats the user's message.
  const isRepeated = (row: SwarmMessage, index: number) =>
    lastUserIndex >= 0 && index > lastUserIndex && row.mode === 'tool' && row.content === text

  const rowConverters: Partial<Record<SwarmRole, (row: SwarmMessage, index: number) => readonly ChatMessage[]>> = {
    user(row, index) {
      if (index === lastUserIndex) return [createReceivedMessage(received)]
      if (index === replacementIndex)
        return [createReceivedMessage(received, row.content.slice(0, row.content.length - text.length))]
      return isRepeated(row, index) ? [] : [{ role: 'user', content: clipText(row.content, maxTextChars) }]
    },
    assistant: ({ content }) => (content === '' ? [] : [{ role: 'assistant', content }]),
    tool({ tool_call_id: id = '', content }, index) {
      const calledFunction = endIndexes.get(id) === index ? calls.get(id)?.function : undefined
      return calledFunction
        ? toCallMessages({ id, name: calledFunction.name, args: calledFunction.arguments }, { result: content })
        : []
    },
  }
  const messages = rows.flatMap((row, index) => rowConverters[row.role]?.(row, index) ?? [])
  return [createSystemMessage(rows, [explainDataBlocks(received.delimiter)]), ...joinNeighbours(messages)]
}

/** Converts text from outside of the conversation, for a model that must know nothing of the conversation. */
function toPlainMessages(rows: readonly SwarmMessage[]): readonly ChatMessage[] {
  const userRows = rows.filter(({ role }) => role === 'user')
  return [createSystemMessage(rows), ...userRows.map(({ content }): ChatMessage => ({ role: 'user', content }))]
}

function createSystemMessage(rows: readonly SwarmMessage[], rules: readonly string[] = []): ChatMessage {
  const instructions = rows
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ content }) => content)
  return { role: 'system', content: [...instructions, ...rules].filter(Boolean).join('\n\n') }
}

function createReceivedMessage(
  { message, images = [], ...details }: ReceivedMessageDetails,
  precedingText = '',
): ChatMessage {
  const text = [precedingText.trim(), formatReceivedMessage(message, details)].filter(Boolean).join('\n\n')
  return { role: 'user', content: images.length > 0 ? [{ type: 'text', text }, ...images] : text }
}

/** The templates of many models require alternating messages of user and assistant, beginning with a user. */
function joinNeighbours(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const joinedMessages: ChatMessage[] = []
  for (const message of messages) {
    const joinedPair = joinMessages(joinedMessages.at(-1), message)
    if (joinedPair) joinedMessages[joinedMessages.length - 1] = joinedPair
    else joinedMessages.push(message)
  }
  return joinedMessages[0]?.role === 'assistant'
    ? [{ role: 'user', content: '(The conversation goes on.)' }, ...joinedMessages]
    : joinedMessages
}

/** Joins two messages of one speaker; `undefined` if the speakers differ or a message has calls. */
function joinMessages(left: ChatMessage | undefined, right: ChatMessage): ChatMessage | undefined {
  if (left?.role === 'user' && right.role === 'user') {
    const pieces = [left.content, right.content]
    if (pieces.every(piece => typeof piece === 'string')) return { role: 'user', content: pieces.join('\n\n') }
    return {
      role: 'user',
      content: pieces.flatMap(piece => (typeof piece === 'string' ? [createTextPiece(piece)] : piece)),
    }
  }
  const areTexts = left?.role === 'assistant' && right.role === 'assistant' && !left.tool_calls && !right.tool_calls
  return areTexts ? { role: 'assistant', content: `${left.content ?? ''}\n\n${right.content ?? ''}` } : undefined
}

function createTextPiece(text: string) {
  return { type: 'text', text } as const
}
