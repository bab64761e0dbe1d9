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

/** The sixteen builders, one for each type. Each throws `Rejection` malformed for what JSON cannot hold. */
interface StoreMessageBuilders {
  createUserMessage(content: Json, options?: EntryOptions): StoreMessage
  createAssistantMessage(content: Json, options?: EntryOptions): StoreMessage
  createTaskEntry(content: Json, options?: EntryOptions): StoreMessage
  createActionEntry(tool_name: string, tool_args: JsonMap, options?: EntryOptions): StoreMessage
  createObservationEntry(content: Json, options?: EntryOptions): StoreMessage
  createErrorEntry(content: Json, options?: EntryOptions & { readonly error_type?: string }): StoreMessage
  createFinalEntry(content: Json, options?: EntryOptions): StoreMessage
  createSynthesisEntry(
    content: Json,
    from_manager: string,
    options?: EntryOptions & { readonly phase_id?: number },
  ): StoreMessage
  createStrategicPlanEntry(plan: JsonMap, options?: EntryOptions): StoreMessage
  createSuggestedPlanEntry(plan: Json, options?: EntryOptions): StoreMessage
  createScriptPlanEntry(plan: JsonMap, options?: EntryOptions): StoreMessage
  createScriptInstructionEntry(content: Json, options?: EntryOptions): StoreMessage
  createDelegationEntry(worker: string, task: Json, options?: EntryOptions): StoreMessage
  createGlobalObservationEntry(
    content: Json,
    options?: EntryOptions & { readonly from_worker?: string; readonly summary?: string },
  ): StoreMessage
  createDirectorContextEntry(content: Json, options?: EntryOptions): StoreMessage
  createInjectedContextEntry(content: Json, options?: EntryOptions): StoreMessage
}

/** Builders over a clock (ms), for the time of what is given none. */
export function createStoreBuilders(now: () => number): StoreMessageBuilders {
  function build(type: StoreMessageType, members: JsonMap, options: EntryOptions = {}): StoreMessage {
    const { timestamp = now() / 1000, turn_id = '', extra = {} } = options
    return parseStoreMessage({ ...extra, ...members, type, timestamp, ...(turn_id !== '' && { turn_id }) })
  }
  const buildContent = (type: StoreMessageType) => (content: Json, options?: EntryOptions) =>
    build(type, { content }, options)
  return {
    createUserMessage: buildContent('user_message'),
    createAssistantMessage: buildContent('assistant_message'),
    createTaskEntry: buildContent('task'),
    createActionEntry: (tool, args, options) => build('action', { tool, args }, options),
    createObservationEntry: buildContent('observation'),
    createErrorEntry: (content, options = {}) =>
      build('error', { content, ...nonEmpty({ error_type: options.error_type }) }, options),
    createFinalEntry: buildContent('final'),
    createSynthesisEntry(content, from_manager, options = {}) {
      const { phase_id } = options
      return build('synthesis', { content, from_manager, ...(phase_id !== undefined && { phase_id }) }, options)
    },
    createStrategicPlanEntry: buildContent('strategic_plan'),
    createSuggestedPlanEntry: buildContent('suggested_plan'),
    createScriptPlanEntry: buildContent('script_plan'),
    createScriptInstructionEntry: buildContent('script_instruction'),
    createDelegationEntry: (worker, task, options) => build('delegation', { worker, task }, options),
    createGlobalObservationEntry(content, options = {}) {
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
