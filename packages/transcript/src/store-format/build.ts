// Builds messages of the message store format, with one builder for each of its sixteen types.
import type { Json } from '@postern/message'
import type { JsonMap } from '../json/difference.ts'
import type { StoreMessageType } from './message.ts'
import { parseStoreMessage, type StoreMessage } from './message.ts'

/** The options of every builder. Members in `extra` are added, but never replace one that the builder sets. */
interface EntryOptions {
  /** The time in seconds since the epoch. 0 is valid. Default: the time of the clock. */
  readonly timestamp?: number | undefined
  /** The id of the turn. An empty id is omitted. */
  readonly turn_id?: string | undefined
  readonly extra?: JsonMap | undefined
}

/**
 * Creates the sixteen builders, one for each type. The clock (ms) gives a time to messages without one. Each builder throws `Rejection`
 * malformed for values that JSON cannot represent.
 */
export function createStoreBuilders(now: () => number) {
  function build(type: StoreMessageType, members: JsonMap, options: EntryOptions = {}): StoreMessage {
    const { timestamp = now() / 1000, turn_id = '', extra = {} } = options
    return parseStoreMessage({ ...extra, ...members, type, timestamp, ...(turn_id !== '' && { turn_id }) })
  }
  function buildContent<Content extends Json = Json>(type: StoreMessageType) {
    return (content: Content, options?: EntryOptions) => build(type, { content }, options)
  }
  return {
    createUserMessage: buildContent('user_message'),
    createAssistantMessage: buildContent('assistant_message'),
    createTaskEntry: buildContent('task'),
    createActionEntry: (tool: string, args: JsonMap, options?: EntryOptions) =>
      build('action', { tool, args }, options),
    createObservationEntry: buildContent('observation'),
    createErrorEntry(content: Json, options: EntryOptions & { readonly error_type?: string } = {}) {
      return build('error', { content, ...nonEmpty({ error_type: options.error_type }) }, options)
    },
    createFinalEntry: buildContent('final'),
    createSynthesisEntry(
      content: Json,
      from_manager: string,
      options: EntryOptions & { readonly phase_id?: number } = {},
    ) {
      const { phase_id } = options
      return build('synthesis', { content, from_manager, ...(phase_id !== undefined && { phase_id }) }, options)
    },
    createStrategicPlanEntry: buildContent<JsonMap>('strategic_plan'),
    createSuggestedPlanEntry: buildContent('suggested_plan'),
    createScriptPlanEntry: buildContent<JsonMap>('script_plan'),
    createScriptInstructionEntry: buildContent('script_instruction'),
    createDelegationEntry: (worker: string, task: Json, options?: EntryOptions) =>
      build('delegation', { worker, task }, options),
    createGlobalObservationEntry(
      content: Json,
      options: EntryOptions & { readonly from_worker?: string; readonly summary?: string } = {},
    ) {
      const { from_worker, summary } = options
      return build('global_observation', { content, ...nonEmpty({ from_worker, summary }) }, options)
    },
    createDirectorContextEntry: buildContent('director_context'),
    createInjectedContextEntry: buildContent('injected_context'),
  }
}

function nonEmpty(members: { readonly [name: string]: string | undefined }): JsonMap {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value))
}
