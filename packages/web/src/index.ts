import { randomBytes } from 'node:crypto'
import type { Channel, ChannelContext, ObjectStore, OperatorApprovals, OperatorQuestions } from '@postern/core'
import { createSender } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { ScopeTable } from '@postern/http/tokens'
import { joinTokenRules } from '@postern/http/tokens'
import { createResponseSemaphore } from '@postern/limits'
import type { OwnerQuota, RecordStore } from '@postern/transcript'
import type { Hono } from 'hono'
import { createWebAttachments } from './attachments/attachment-store.ts'
import type { WebConfig } from './config.ts'
import { webConfigSchema } from './config.ts'
import { deliverRun } from './deliver.ts'
import type { BoundTranscript, RecordDeps, WebDeps } from './endpoint.ts'
import { boundTranscript } from './endpoint.ts'
import { addressRun, describeResponse, renderResponse, showChatAnswer } from './render.ts'
import { findWebThread } from './resolve.ts'
import { createWebRoutes } from './routes.ts'
import { createRunReplay } from './runs/replay.ts'
import { openS3Bytes } from './s3/open-s3.ts'
import { readChatKey, webDescriptor } from './speaker.ts'
import { createVerifyOwner } from './verify.ts'

export type { WebConfig } from './config.ts'
export { webConfigSchema } from './config.ts'
export { openS3Bytes } from './s3/open-s3.ts'

/** What the chat needs beside what every channel does: conversations as they are read back, and people's files. */
interface WebContext extends ChannelContext {
  readonly transcript: BoundTranscript
  readonly objects: ObjectStore
  /** Small records: rows of sessions. */
  readonly records: RecordStore & RecordDeps
  readonly forgetChat: WebDeps['forgetChat']
  /** Whether people may link their addresses for an agent. */
  isLinking(agent: string): boolean
  /** What waits for operators. */
  readonly approvals: OperatorApprovals
  /** What agents ask of humans. */
  readonly questions: OperatorQuestions
  /** Other names for the scopes of A2A, which limit tokens here as well. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** Whether it bears the gateway's operator token. */
  isOperatorToken(authorization: string): boolean
}

/** Of one person: each may be some MB. */
const atOnce = { width: 8, queue: 64 } as const

/** Chat for browsers and apps: AG-UI 1.0 with history and attachments. */
export async function openWeb(config: WebConfig, context: WebContext): Promise<Channel<Hono>> {
  const gateway: ChannelContext = context
  const { transcript, objects } = context
  const secret = await gateway.store.secret('web-storage', async () => randomBytes(32).toString('base64'))
  const quota = quotaOf(config)
  const deps = {
    ...context,
    config,
    gateway,
    bounded: boundTranscript(transcript, quota),
    quota,
    verifyOwner: createVerifyOwner(config, context),
    responseSemaphore: createResponseSemaphore(atOnce),
    attachments: createWebAttachments({ config, gateway, objects, key: Buffer.from(secret, 'base64') }),
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
    routes,
    isReadAsPreview: true,
    preview: ({ response }) => [showChatAnswer(response, gateway.fileAddress)],
    replay: createRunReplay(deps),
    ...(config.enabled && { entrance: { label: 'chat', path: '/api/v1/agent/runs' } }),
    async findThread(owner, key) {
      const named = readChatKey(key)
      return named && findWebThread({ owner, ...named }, { transcript })
    },
    addressesFiles: true,
    privateScope: subject => subject,
    links: () => [],
    publishedKeys: async () => [],
  }
}

function quotaOf({ limits }: WebConfig): OwnerQuota {
  return { threads: limits.threads_per_owner, entries: limits.entries_per_owner, bytes: limits.bytes_per_owner }
}

export { webDescriptor } from './speaker.ts'

/** As the gateway's list has it. */
export const web: ChannelModule<WebConfig, 'web', WebContext> = {
  descriptor: webDescriptor,
  configSchema: webConfigSchema,
  fixedMembers: ['storage'],
  open: openWeb,
  tokens: {
    of: ({ auth }) => auth,
    join: (config, other) => ({ ...config, auth: joinTokenRules(config.auth, other) }),
  },
  openBytes: ({ storage }, platform) => (storage.kind === 's3' ? openS3Bytes(storage, platform) : undefined),
  fileRules: ({ attachments }) => attachments,
  devDefaults: [
    ['web/enabled', true],
    ['web/trace', true],
  ],
  admitOperator: admitOperatorToken,
}

/** Unless the configuration says who may chat. */
function admitOperatorToken(config: WebConfig, sha256: string): WebConfig {
  const { auth, enabled } = config
  const isOpen = auth.tokens.length > 0 || auth.issuers.length > 0
  return enabled && !isOpen ? { ...config, auth: { ...auth, tokens: [{ name: 'operator', sha256 }] } } : config
}
