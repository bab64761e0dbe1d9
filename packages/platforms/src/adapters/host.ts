// Collects everything that an adapter hears in one request, as the `ChatInstance` that the adapter works for.
import type { Log } from '@postern/message'
import type { Adapter, Author, ChatInstance, Logger, Message, StateAdapter, WebhookOptions } from 'chat'

/** An event as the adapter reports it. `load` resolves names by the platform's API. */
export type HeardEvent =
  | { readonly kind: 'message' | 'edit'; readonly thread: string; load(): Promise<Message> }
  | {
      readonly kind: 'delete'
      readonly thread: string
      readonly messageId: string
      readonly previousMessage: Message | undefined
    }
  | {
      readonly kind: 'reaction'
      readonly thread: string
      readonly messageId: string
      readonly emoji: string
      readonly isAdded: boolean
      readonly user: Author
    }
  | { readonly kind: 'command'; readonly text: string; readonly user: Author }

/** The adapter's answer to a request, and the events of that request. */
export interface HeardRequest {
  readonly response: Response
  readonly events: readonly HeardEvent[]
}

export interface Host {
  readonly instance: ChatInstance
  /** Hands a request to the adapter, and waits until the adapter has reported all events of it. */
  hear(adapter: Adapter, request: Request): Promise<HeardRequest>
}

interface HostDeps {
  readonly state: StateAdapter
  readonly log: Log
}

/**
 * Creates the host of an adapter. It answers nothing itself: the events of a request are returned to the caller, who acknowledges the request once they
 * are durable.
 */
export function createHost({ state, log }: HostDeps): Host {
  const requests = new WeakMap<WebhookOptions, HeardEvent[]>()
  const logger = createLogger(log)

  async function note(event: HeardEvent, options: WebhookOptions | undefined): Promise<void> {
    const events = options && requests.get(options)
    if (!events) throw new Error(`an event of the kind "${event.kind}" belongs to no request`)
    events.push(event)
  }

  const ignore = async () => undefined
  const instance: ChatInstance = {
    getState: () => state,
    getLogger: () => logger,
    getUserName: () => 'postern',
    processMessage: (_, thread, message, options) =>
      note({ kind: 'message', thread, load: toLoader(message) }, options),
    handleIncomingMessage: ignore,
    processMessageUpdated: ({ threadId, message }, options) =>
      note({ kind: 'edit', thread: threadId, load: toLoader(message) }, options),
    processMessageDeleted: ({ threadId, messageId, previousMessage }, options) =>
      note({ kind: 'delete', thread: threadId, messageId, previousMessage }, options),
    processReaction: ({ threadId, messageId, rawEmoji, added, user }, options) =>
      note({ kind: 'reaction', thread: threadId, messageId, emoji: rawEmoji, isAdded: added, user }, options),
    processSlashCommand: ({ text, user }, options) => note({ kind: 'command', text, user }, options),
    abortTurn: ignore,
    processAction: ignore,
    processModalSubmit: ignore,
    processOptionsLoad: ignore,
    processModalClose: ignore,
    processAgentSessionStopped: ignore,
    processAgentSessionTitleChanged: ignore,
    processAppContextChanged: ignore,
    processAppHomeOpened: ignore,
    processAssistantContextChanged: ignore,
    processAssistantThreadStarted: ignore,
    processMemberJoinedChannel: ignore,
    get history(): never {
      throw new Error('the gateway keeps the history itself')
    },
    get transcripts(): never {
      throw new Error('the gateway keeps transcripts itself')
    },
  }

  return {
    instance,
    async hear(adapter, request) {
      const events: HeardEvent[] = []
      const tasks: Promise<unknown>[] = []
      const options: WebhookOptions = { waitUntil: task => tasks.push(task) }
      requests.set(options, events)
      const response = await adapter.handleWebhook(request, options)
      // A task may begin another one.
      for (const task of tasks) await task
      return { response, events }
    },
  }
}

function toLoader(message: Message | (() => Promise<Message>)): () => Promise<Message> {
  return typeof message === 'function' ? message : async () => message
}

/** Writes the log of an adapter into the gateway's own. Its routine lines are for debugging. */
function createLogger(log: Log): Logger {
  const fieldsOf = (values: readonly unknown[]) => ({ values })
  return {
    child: () => createLogger(log),
    debug: (text, ...values) => log.debug(fieldsOf(values), text),
    info: (text, ...values) => log.debug(fieldsOf(values), text),
    warn: (text, ...values) => log.warn(fieldsOf(values), text),
    error: (text, ...values) => log.error(fieldsOf(values), text),
  }
}
