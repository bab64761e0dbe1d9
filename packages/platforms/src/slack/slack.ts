// Opens Slack by its adapter: the Events API, slash commands, and the Web API for answers.
import { bindLog, Unavailable, Undeliverable } from '@postern/message'
import type { Adapter } from 'chat'
import { createHost } from '../adapters/host.ts'
import { createPlatformState } from '../adapters/state.ts'
import type { SlackConfig } from '../config.ts'
import type { OpenedPlatform, OpenPlatformDeps, Platform } from '../platform.ts'
import { createAxiosTransport } from './axios-transport.ts'
import { boundMarkup } from './bound-markup.ts'
import { classifySlackError, isMissingPost } from './classify-error.ts'
import type { SlackContent } from './document.ts'
import { readSlackDocument } from './document.ts'
import { listSlackPosts } from './own-posts.ts'
import type { SlackHome, SlackUser } from './people.ts'
import { createPeople } from './people.ts'
import { readSlackEvent } from './read-event.ts'
import { listTombstones } from './tombstones.ts'

/** The adapter with Slack's own client, as far as the gateway uses it. */
interface SlackAdapter extends Adapter {
  readonly webClient: Parameters<typeof listSlackPosts>[0] & {
    readonly auth: { test(): Promise<{ readonly team_id?: string; readonly enterprise_id?: string }> }
    readonly users: {
      info(query: { readonly user: string; readonly include_locale: true }): Promise<{ readonly user?: SlackUser }>
    }
  }
}

interface SlackLibrary {
  createSlackAdapter(options: Readonly<Record<string, unknown>>): SlackAdapter
}

export const slackPlatform: Platform<SlackConfig> = {
  name: 'slack',
  library: '@chat-adapter/slack',
  signatureHeader: 'x-slack-signature',
  headers: ['content-type', 'x-slack-request-timestamp', 'x-slack-retry-num'],
  apiUrl: 'https://slack.com/api/',
  // Slack refuses a `markdown_text` of more than 12,000 characters.
  maxPostChars: 11_000,
  open: openSlack,
}

function openSlack({ config, library, fetch, log, now, hasAnswered }: OpenPlatformDeps<SlackConfig>): OpenedPlatform {
  const { createSlackAdapter } = library as SlackLibrary
  const host = createHost({
    state: createPlatformState({ now, isForgotten, readConstant }),
    log: bindLog(log, { via: slackPlatform.name }),
  })
  const logger = host.instance.getLogger()
  const adapter = createSlackAdapter({
    botToken: config.bot_token,
    signingSecret: config.signing_secret,
    apiUrl: withSlash(config.api_url ?? slackPlatform.apiUrl),
    logger,
    webClientOptions: {
      adapter: createAxiosTransport(fetch),
      logger: { ...logger, setLevel: ignore, setName: ignore, getLevel: () => 'warn' },
      // The queue of deliveries retries, and keeps the time for which Slack asks.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
    },
  })
  boundMarkup(adapter)
  const findPerson = createPeople({ system: { now }, readUser: id => readUser(adapter, id) })
  const connection = createConnection({ adapter, now, initialize: () => adapter.initialize(host.instance) })
  return {
    adapter,
    connect: connection.open,
    hear: request => host.hear(adapter, request),
    listUnheard: ({ content }) => listTombstones(content as SlackContent, adapter),
    readDocument: readSlackDocument,
    readEvent: async (heard, { content }) => {
      const home = await connection.findHome()
      return readSlackEvent(heard, content as SlackContent, { adapter, home, findPerson, hasAnswered })
    },
    listOwnPosts: (thread, since) => listSlackPosts(adapter.webClient, { bot: adapter.botUserId, thread, since }),
    nameObject: (thread, messageId) => `slack:${thread.split(':')[1]}:${messageId}`,
    classify: classifySlackError,
    isMissing: isMissingPost,
    prepareText,
  }
}

/**
 * Returns true for the adapter's mark that it has delivered an event. It sets the mark before the gateway has stored anything, and after a crash the mark
 * would swallow Slack's repetition. The store itself recognizes repeated events. Previews of links are large, and nobody reads them.
 */
function isForgotten(key: string): boolean {
  return key.startsWith('slack:event-delivered:') || key.startsWith(previewPrefix)
}

const previewPrefix = 'slack:unfurls:'

/** Returns an empty preview of links, for which the adapter would otherwise wait two seconds before Slack is answered. */
function readConstant(key: string): unknown {
  return key.startsWith(previewPrefix) ? {} : undefined
}

interface ConnectionDeps {
  readonly adapter: SlackAdapter
  now(): number
  initialize(): Promise<void>
}

/** The time for which a failed attempt to connect counts, ms, so that forged requests cause few calls to Slack. */
const failureMs = 5_000

interface Connection {
  open(): Promise<void>
  findHome(): Promise<SlackHome>
}

/** Learns the bot's identity, without which the bot would answer itself, and its workspace, in which people are members. */
function createConnection({ adapter, now, initialize }: ConnectionDeps): Connection {
  let connection: Promise<SlackHome> | undefined
  let failedAt = Number.NEGATIVE_INFINITY
  async function connect(): Promise<SlackHome> {
    try {
      const { team_id: team, enterprise_id: enterprise } = await adapter.webClient.auth.test()
      await initialize()
      if (adapter.botUserId === undefined || team === undefined)
        throw new Unavailable('Slack does not tell the identity of the bot')
      return { team, enterprise }
    } catch (error) {
      failedAt = now()
      throw classifySlackError(error)
    }
  }
  function findHome(): Promise<SlackHome> {
    const hasFailed = failedAt > Number.NEGATIVE_INFINITY
    if (!connection || (hasFailed && now() >= failedAt + failureMs)) {
      failedAt = Number.NEGATIVE_INFINITY
      connection = connect()
    }
    return connection
  }
  return { findHome, open: async () => void (await findHome()) }
}

/** Reads a user. @throws Unavailable, because a person about whom Slack tells nothing must not pass as a member */
async function readUser({ webClient }: SlackAdapter, id: string): Promise<SlackUser> {
  try {
    const { user } = await webClient.users.info({ user: id, include_locale: true })
    if (user) return user
  } catch (error) {
    const fault = classifySlackError(error)
    if (!(fault instanceof Undeliverable)) throw fault
    const message = `Cannot take message: Slack does not tell who wrote it. ${fault.message}`
    throw new Unavailable(message, { cause: error })
  }
  throw new Unavailable('Cannot take message: Slack does not tell who wrote it')
}

/** Breaks the commands `<!channel>`, `<!here>` and the like, which would notify everybody. */
function prepareText(markdown: string): string {
  return markdown.replaceAll('<!', '&lt;!')
}

const ignore = () => undefined

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}
