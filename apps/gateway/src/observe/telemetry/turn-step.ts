// Describes the steps of a turn as spans, in the words of OpenTelemetry's conventions for generative AI.
import type { EndedStep, Turn } from '@postern/pipeline'
import type { SpanDetails, TracedSpan } from './stage.ts'
import { formatTurnKey } from './stage.ts'

/** Returns the key of a step's span. Another attempt at the turn has other steps. */
export function formatStepKey({ message, token }: Pick<Turn, 'message' | 'token'>, step: number): string {
  return `step ${message} ${token} ${step}`
}

/** Describes a step of a turn as a span below the turn, or below the step around it. */
export function describeTurnStep(turn: Turn, step: EndedStep): TracedSpan {
  const { via, correlationId } = turn
  const { kind, number, parent, requestedByStep, startedAt, endedAt, failureCode } = step
  return {
    name: kind,
    via,
    correlationId,
    startAt: startedAt,
    endAt: endedAt,
    describe() {
      const { semanticAttributes: conventional, ...described } = describers[kind](step)
      return {
        key: formatStepKey(turn, number),
        parentKey: parent === undefined ? formatTurnKey(turn) : formatStepKey(turn, parent),
        attributes: { agent: turn.agent, message: turn.message },
        ...described,
        semanticAttributes: {
          ...conventional,
          'gen_ai.conversation.id': String(turn.thread),
          ...(failureCode !== undefined && { 'error.type': failureCode }),
        },
        errorCode: failureCode,
        ...(requestedByStep !== undefined && { causeKey: formatStepKey(turn, requestedByStep) }),
      }
    },
  }
}

type StepDescriber = (step: EndedStep) => Pick<SpanDetails, 'title' | 'kind' | 'semanticAttributes'>

/** Semantic conventions for generative AI: spans of inference, tools and agents. */
const describers: Readonly<Record<EndedStep['kind'], StepDescriber>> = {
  model: ({ name, server, usage, finishReason }) => ({
    title: `chat ${name}`,
    kind: 'client',
    semanticAttributes: {
      'gen_ai.operation.name': 'chat',
      // These models speak OpenAI's interface, regardless of who runs them.
      'gen_ai.provider.name': usage?.provider ?? 'openai',
      'gen_ai.request.model': name,
      ...describeServer(server),
      ...(usage?.input_tokens !== undefined && { 'gen_ai.usage.input_tokens': usage.input_tokens }),
      ...(usage?.output_tokens !== undefined && { 'gen_ai.usage.output_tokens': usage.output_tokens }),
      ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    },
  }),
  tool({ name, id }) {
    const shownName = findSafeToolName(name)
    return {
      title: shownName === undefined ? 'execute_tool' : `execute_tool ${shownName}`,
      semanticAttributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.type': 'function',
        ...(shownName !== undefined && { 'gen_ai.tool.name': shownName }),
        ...(id !== undefined && { 'gen_ai.tool.call.id': id.slice(0, maxIdChars) }),
      },
    }
  },
  call: ({ name }) => ({
    title: `invoke_agent ${name}`,
    kind: 'client',
    semanticAttributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
  }),
  stage: ({ name }) => ({ title: `stage ${name}` }),
}

/** The maximum length of the id of a tool call in a span. */
const maxIdChars = 128

/** Returns the name of a tool for a span. Leaves out names with spaces, because a model may build a name from a person's words. */
function findSafeToolName(name: string): string | undefined {
  return /^[\w.:/-]{1,64}$/.test(name) ? name : undefined
}

function describeServer(server: string | undefined): Readonly<Record<string, string | number>> {
  const url = server === undefined ? null : URL.parse(`http://${server}`)
  if (!url) return {}
  return { 'server.address': url.hostname, ...(url.port !== '' && { 'server.port': Number(url.port) }) }
}
