import type { Json } from '@postern/core'
import type { JsonMap } from '../json/difference.ts'
import type { StoreMessageType } from './message.ts'
import { parseStoreMessage, type StoreMessage } from './message.ts'

/** What every builder takes. Further members stand in `extra`; they never replace one that the builder sets. */
interface EntryOptions {
  /** Seconds since the epoch; 0 is a time, too. Absent: the clock's. */
  readonly timestamp?: number | undefined
  /** Left out when empty. */
  readonly turn_id?: string | undefined
  readonly extra?: JsonMap | undefined
}

/**
 * The sixteen builders, one for each type, over a clock (ms) for the time of what is given none. Each throws `Rejection` malformed for what
 * JSON cannot hold.
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
