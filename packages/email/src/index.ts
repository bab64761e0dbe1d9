// Opens the email channel, which accepts mail over HTTP, SMTP and LMTP, and sends it through one smarthost.

export type { MailDetails } from './body/mail-body.ts'
export { devBudgets } from './config/answers.ts'
export { emailConfigSchema } from './config.ts'

import type { ChannelModule } from '@postern/http'
import type { BodyBudget } from '@postern/message'
import { defaultMaxHops, escapeHtml, lazy } from '@postern/message'
import type { Channel, ChannelContext, Inbound } from '@postern/pipeline'
import type { Hono } from 'hono'
import { createDeferrals } from './authenticate/deferrals.ts'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { devBudgets } from './config/answers.ts'
import type { EmailConfig } from './config.ts'
import { emailConfigSchema, findUnsafeMail } from './config.ts'
import { createCorrespondents } from './correspondents/correspondents.ts'
import { createKeyReader } from './dkim/key-cache.ts'
import { parseKeyRecord } from './dkim/key-record.ts'
import { createMailInbound } from './inbound.ts'
import { createMailIntake } from './intake/intake.ts'
import { warmUp } from './intake/warm-up.ts'
import { openAddressReader } from './mail/address-list.ts'
import type { RawMail } from './mail/raw-mail.ts'
import { createSimpleReader } from './mime/simple-mail.ts'
import { openMailOutbound } from './outbound.ts'
import { loadDmarc } from './policy/dmarc.ts'
import { createMailDns } from './policy/mail-dns.ts'
import { loadSpf } from './policy/spf.ts'
import type { MimePool } from './pool/pool.ts'
import { createMimePool } from './pool/pool.ts'
import { createMailReplay } from './replay.ts'
import { createMailIntakeRoutes } from './routes.ts'
import { createSignatureReplays } from './signatures/signature-replays.ts'
import { loadSmtpServer, openSmtpListener } from './smtp/listener.ts'
import { emailDescriptor } from './speaker.ts'
import { createMailSubmitter } from './submit/submit-mail.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'
import { createTokenOpener } from './tokens/address-tokens.ts'
import { createUnsubscribeRoutes } from './unasked/unsubscribe-routes.ts'

interface EmailDeps {
  /**
   * The worker threads, which are closed with the channel. If they are absent, the channel starts its own threads, with
   * the limits of its configuration.
   */
  readonly pool?: MimePool | undefined
}

/** Opens the mail channel. It receives mail by HTTP and by an SMTP or LMTP listener, and sends signed mail through one smarthost. */
export function openEmail(config: EmailConfig, gateway: ChannelContext, deps: EmailDeps = {}): Channel<Hono> {
  const { system, store, agents } = gateway
  const { limits, listen } = config
  const pool = deps.pool ?? createMimePool({ limits, system })
  const shutdown = new AbortController()
  const openTokens = createTokenOpener(gateway)
  const openInbound = (context: ChannelContext) => createInbound(config, context, { pool, openTokens })
  const inbound = openInbound(gateway)
  const intake = createMailIntake(inbound, gateway)
  const outbound = openMailOutbound(config, gateway, openTokens)
  return {
    ...outbound,
    diagnostics: {
      ...outbound.diagnostics,
      replay: createMailReplay(conditions => openInbound({ ...gateway, ...conditions })),
    },
    endpoint: {
      routes: createMailIntakeRoutes({
        config,
        intake,
        system: { ...system, consumeOnce: (key, until) => store.consumeOnce(key, until) },
      }).route('/', createUnsubscribeRoutes({ gateway, openTokens })),
      ...(listen && {
        listen: previousListener => {
          void warmUp([openAddressReader, loadSpf, loadDmarc, loadSmtpServer], system, shutdown.signal)
          return openSmtpListener({
            config: listen.port === 0 && previousListener ? { ...listen, port: previousListener.port } : listen,
            maxBytes: limits.message_bytes,
            bodies: gateway.bodies ?? unboundedBodies,
            sleep: system.sleep,
            domain: agents.domain,
            intake,
          })
        },
      }),
      close() {
        shutdown.abort()
        return pool.close()
      },
    },
    ...(acceptsMail(config) && {
      discovery: {
        describeContact: agent => ({ email: `${agent}@${agents.domain}` }),
        renderInvitation: agent => renderInvitation(agent, agents.domain),
        links: agent => [{ rel: 'mailto', href: `mailto:${agent}@${agents.domain}` }],
      },
    }),
  }
}

/** The unlimited memory budget of a channel that runs without a gateway. */
const unboundedBodies: BodyBudget = { reserve: () => ({ add() {}, async acquire() {}, release() {} }) }

function createInbound(
  config: EmailConfig,
  gateway: ChannelContext,
  { pool, openTokens }: { readonly pool: MimePool; openTokens(): Promise<AddressTokens> },
): Inbound<RawMail, ProvenMail> {
  const { system, store } = gateway
  const { limits, trust } = config
  return createMailInbound({
    gateway,
    config,
    limits,
    trust,
    notifiesUnreadable: config.encrypted_notice,
    dns: createMailDns(system, limits),
    readSimple: createSimpleReader({ limits, readKey: createKeyReader(parseKeyRecord) }),
    pool,
    mayDefer: createDeferrals(store, system, limits.deferral_ms),
    recordSignature: createSignatureReplays(system),
    compareAuthor: createCorrespondents({ store, system }),
    openAddresses: lazy(openAddressReader),
    openTokens,
    maxHops: gateway.maxHops ?? defaultMaxHops,
  })
}

function renderInvitation(agent: string, domain: string): string {
  const address = escapeHtml(`${agent}@${domain}`)
  return `By email: <a href="mailto:${address}">${address}</a>`
}

/** Returns true if an endpoint that accepts mail is configured. */
function acceptsMail({ listen, intake, providers }: EmailConfig): boolean {
  return listen !== undefined || intake !== undefined || Object.keys(providers).length > 0
}

/** The channel's module in the gateway's list. */
export const email: ChannelModule<EmailConfig, 'email'> = {
  descriptor: emailDescriptor,
  configSchema: emailConfigSchema,
  open: openEmail,
  findUnsafe: findUnsafeMail,
  openMail: ({ submit }, log) => (submit ? createMailSubmitter(submit, log) : undefined),
  devDefaults: [['email/budgets', devBudgets]],
  simulatedDefaults: ({ submit, secret }) => [
    ['email/submit', submit],
    ['email/intake', { secret }],
    ['email/listen', { port: 2525, protocol: 'smtp' }],
  ],
  simulatedSecret: ({ intake }) => intake?.secret,
}
