// Opens the web channel, by which people chat with agents in browsers and apps.
import type { ChannelModule, DevCallers } from '@postern/http'
import type { ScopeTable } from '@postern/http/tokens'
import { joinTokenRules } from '@postern/http/tokens'
import { createResponseSemaphore } from '@postern/limits'
import type { ObjectStore } from '@postern/message'
import type { Channel, ChannelContext, OperatorApprovals, OperatorQuestions } from '@postern/pipeline'
import { createSender } from '@postern/pipeline'
import type { OwnerQuota, RecordStore } from '@postern/transcript'
import type { Hono } from 'hono'
import { createWebAttachments } from './attachments/attachment-store.ts'
import type { WebConfig } from './config.ts'
import { webConfigSchema } from './config.ts'
import { deliverRun } from './deliver.ts'
import type { BoundTranscript, RecordQuotas, WebDeps } from './endpoint.ts'
import { limitTranscript } from './endpoint.ts'
import { createTurnPolls } from './polling/turn-polls.ts'
import { addressRun, describeResponse, renderResponse, showChatAnswer } from './render.ts'
import { createWebRoutes } from './routes.ts'
import { createRunReplay } from './runs/replay.ts'
import { openS3Bytes } from './s3/open-s3.ts'
import { readChatKey, webDescriptor } from './speaker.ts'
import { findWebThread } from './threads/web-threads.ts'
import { createVerifyOwner } from './verify.ts'

export type { WebConfig } from './config.ts'
export { webConfigSchema } from './config.ts'

/** The dependencies of the chat besides those of every channel: stored conversations and people's files. */
interface WebContext extends ChannelContext {
  readonly transcript: BoundTranscript
  readonly objects: ObjectStore
  /** The store of small records, such as rows of sessions. */
  readonly records: RecordStore & RecordQuotas
  readonly forgetChat: WebDeps['forgetChat']
  /** Returns true if people may link their addresses for an agent. */
  isLinking(agent: string): boolean
  /** The calls that wait for operators' decisions. */
  readonly approvals: OperatorApprovals
  /** The questions that agents ask humans. */
  readonly questions: OperatorQuestions
  /** Other names for the scopes of A2A, which limit tokens here as well. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** Returns true if the header contains the gateway's operator token. */
  isOperatorToken(authorization: string): boolean
}

/** The maximum number of large answers to one person at a time, because each may have some MB. */
const responseLimits = { maxRunning: 8, maxWaiting: 64 } as const

/** Opens the chat for browsers and apps: AG-UI 1.0 with history and attachments. */
export async function openWeb(config: WebConfig, context: WebContext): Promise<Channel<Hono>> {
  const gateway: ChannelContext = context
  const { transcript, objects } = context
  const secret = await gateway.store.openSecret('web-storage')
  const quota = quotaOf(config)
  const shutdown = new AbortController()
  const deps = {
    ...context,
    config,
    gateway,
    limitedTranscript: limitTranscript(transcript, quota),
    quota,
    shutdownSignal: shutdown.signal,
    turnPolls: createTurnPolls(gateway.system, shutdown.signal),
    verifyOwner: createVerifyOwner(config, context),
    responseSemaphore: createResponseSemaphore(responseLimits),
    attachments: createWebAttachments({ config, gateway, objects, secret }),
  }
  const routes = createWebRoutes(deps)
  const sender = createSender({
    descriptor: webDescriptor,
    address: addressRun,
    render: renderResponse,
    describe: describeResponse,
    deliver: deliverRun,
  })
  return {
    ...sender,
    endpoint: {
      routes,
      release: () => shutdown.abort(),
      ...(config.enabled && { chatPage: { label: 'chat', path: '/api/v1/agent/runs' } }),
    },
    conversations: {
      async findThread(owner, key) {
        const chatKey = readChatKey(key)
        return chatKey && findWebThread({ owner, ...chatKey }, { transcript })
      },
      privateScope: subject => subject,
    },
    diagnostics: {
      preview: ({ response }) => [showChatAnswer(response, gateway.fileAddress)],
      replay: createRunReplay(deps),
    },
  }
}

function quotaOf({ limits }: WebConfig): OwnerQuota {
  return { threads: limits.threads_per_owner, entries: limits.entries_per_owner, bytes: limits.bytes_per_owner }
}

/** The module of the web channel in the gateway's list. */
export const web: ChannelModule<WebConfig, 'web', WebContext> = {
  descriptor: webDescriptor,
  configSchema: webConfigSchema,
  fixedMembers: ['storage'],
  open: openWeb,
  tokens: {
    authOf: ({ auth }) => auth,
    join: (config, otherConfig) => ({ ...config, auth: joinTokenRules(config.auth, otherConfig) }),
  },
  openBytes: ({ storage }, system) => (storage.kind === 's3' ? openS3Bytes(storage, system) : undefined),
  fileRules: ({ attachments }) => attachments,
  devDefaults: [
    ['web/enabled', true],
    ['web/trace', true],
  ],
  admitDevCallers,
}

/** Lets the operator and the simulation chat, in addition to the people whom the configuration names. */
function admitDevCallers(config: WebConfig, { operatorDigest, origin, issuers }: DevCallers): WebConfig {
  const { auth, enabled } = config
  if (!enabled) return config
  const tokens = [{ name: 'operator', sha256: operatorDigest }]
  const audience = `${origin}/api/v1`
  const { auth: admittedAuth } = webConfigSchema.parse({
    auth: { tokens, issuers: issuers.map(issuer => ({ ...issuer, audience })) },
  })
  return {
    ...config,
    auth: {
      ...auth,
      tokens: [
        ...auth.tokens,
        ...admittedAuth.tokens.filter(({ name }) => auth.tokens.every(ownToken => ownToken.name !== name)),
      ],
      issuers: [
        ...auth.issuers,
        ...admittedAuth.issuers.filter(admittedIssuer =>
          auth.issuers.every(ownIssuer => ownIssuer.issuer !== admittedIssuer.issuer),
        ),
      ],
    },
  }
}
