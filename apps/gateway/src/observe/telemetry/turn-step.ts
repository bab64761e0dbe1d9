// Describes the steps of a turn as spans, in the words of OpenTelemetry's conventions for generative AI.
import type { EndedStep, Turn } from '@postern/pipeline'
import type { SpanDetails, TracedSpan } from './stage.ts'
import { turnKey } from './stage.ts'

/** Returns the key of a step's span. A turn that is taken up again has other steps. */
export function stepKey({ message, token }: Pick<Turn, 'message' | 'token'>, step: number): string {
  return `step ${message} ${token} ${step}`
}

/** Describes a step of a turn as a span below the turn, or below the step around it. */
export function describeTurnStep(turn: Turn, step: EndedStep): TracedSpan {
  const { via, correlationId } = turn
  const { kind, number, parent, requestedByStep, startedAt, endedAt, failureCode } = step
  return {
    ...{ name: kind, via, correlationId, startAt: startedAt, endAt: endedAt },
    describe() {
      const { conventional, ...described } = describers[kind](step)
      return {
        key: stepKey(turn, number),
        parent: parent === undefined ? turnKey(turn) : stepKey(turn, parent),
        attributes: { agent: turn.agent, message: turn.message },
        ...described,
        conventional: {
          ...conventional,
          'gen_ai.conversation.id': String(turn.thread),
          ...(failureCode !== undefined && { 'error.type': failureCode }),
        },
        fault: failureCode,
        ...(requestedByStep !== undefined && { cause: stepKey(turn, requestedByStep) }),
      }
    },
  }
}

type StepDescriber = (step: EndedStep) => Pick<SpanDetails, 'title' | 'kind' | 'conventional'>

/** Semantic conventions for generative AI: spans of inference, tools and agents. */
const describers: Readonly<Record<EndedStep['kind'], StepDescriber>> = {
  model: ({ name, server, usage, finishReason }) => ({
    title: `chat ${name}`,
    kind: 'client',
    conventional: {
      'gen_ai.operation.name': 'chat',
      // The interface of OpenAI is the one that these models speak, whoever runs them.
      'gen_ai.provider.name': usage?.provider ?? 'openai',
      'gen_ai.request.model': name,
      ...describeServer(server),
      ...(usage?.input_tokens !== undefined && { 'gen_ai.usage.input_tokens': usage.input_tokens }),
      ...(usage?.output_tokens !== undefined && { 'gen_ai.usage.output_tokens': usage.output_tokens }),
      ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    },
  }),
  tool({ name, id }) {
    const shownName = showToolName(name)
    return {
      title: shownName === undefined ? 'execute_tool' : `execute_tool ${shownName}`,
      conventional: {
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
    conventional: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
  }),
  stage: ({ name }) => ({ title: `stage ${name}` }),
}

/** Characters of an agent's id for a call. */
const maxIdChars = 128

/** A model may call what it has made up from somebody's words. A name with spaces stays out. */
function showToolName(name: string): string | undefined {
  return /^[\w.:/-]{1,64}$/.test(name) ? name : undefined
}

function describeServer(server: string | undefined): Readonly<Record<string, string | number>> {
  const url = server === undefined ? null : URL.parse(`http://${server}`)
  if (!url) return {}
  return { 'server.address': url.hostname, ...(url.port !== '' && { 'server.port': Number(url.port) }) }
}
