export { emailConfigSchema } from './config.ts'

import type { ByteBudget, Channel, ChannelContext, Inbound } from '@postern/core'
import { defaultMaxHops, escapeHtml } from '@postern/core'
import type { ChannelModule } from '@postern/http'
import type { Hono } from 'hono'
import type { AddressReader } from './addresses/mailbox.ts'
import { openAddressReader } from './addresses/mailbox.ts'
import { createDeferrals } from './authenticate/deferral.ts'
import { createSignatureReplays } from './authenticate/dkim/replays.ts'
import { loadDmarc } from './authenticate/dmarc.ts'
import { createMailDns } from './authenticate/dns/mail-dns.ts'
import { loadSpf } from './authenticate/spf.ts'
import { endlessBudgets } from './config/endless-budgets.ts'
import type { EmailConfig } from './config.ts'
import { emailConfigSchema } from './config.ts'
import { createCorrespondents } from './correspondents/correspondents.ts'
import { createKeyReader } from './dkim/key-record.ts'
import { createMailIntake } from './intake/intake.ts'
import { warmUp } from './intake/warm-up.ts'
import type { RawMail } from './mail/raw.ts'
import type { MimePool } from './mime/pool.ts'
import { createMimePool } from './mime/pool.ts'
import { createSimpleReader } from './mime/simple/simple-mail.ts'
import { normalizeMail } from './normalize.ts'
import { createMailSubmitter } from './out/submit.ts'
import { createUnsubscribeRoutes } from './out/suppression/unsubscribe-routes.ts'
import { openMailOutbound } from './outbound.ts'
import type { ProvenMail } from './proven/mail.ts'
import type { ProviderPlatform } from './providers/provider.ts'
import { createMailReplay } from './replay.ts'
import { createMailIntakeRoutes } from './routes.ts'
import { loadSmtpServer, openSmtpListener } from './smtp/listener.ts'
import { emailDescriptor } from './speaker.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'
import { createTokenKey } from './tokens/token-key.ts'
import { findUnsafeMail } from './unsafe.ts'
import { verifyMail } from './verify.ts'

interface EmailDeps {
  /** Threads that were started before; the channel closes them, too. Default: its own, by the limits of its configuration. */
  readonly pool?: MimePool | undefined
}

/** The mail channel: HTTP intake and SMTP or LMTP listener in, signed mail over one smarthost out. */
export function openEmail(config: EmailConfig, gateway: ChannelContext, deps: EmailDeps = {}): Channel<Hono> {
  const { platform, agents } = gateway
  const { limits, listen } = config
  const pool = deps.pool ?? createMimePool({ limits, platform })
  const closing = new AbortController()
  const openTokens = createTokenKey(gateway)
  const inbound = openInbound(config, gateway, { pool, openTokens })
  const intake = createMailIntake(inbound, gateway)
  return {
    ...openMailOutbound(config, gateway, openTokens),
    replay: createMailReplay(moment => openInbound(config, { ...gateway, ...moment }, { pool, openTokens })),
    routes: createMailIntakeRoutes({ config, intake, platform: openProviderPlatform(gateway) }).route(
      '/',
      createUnsubscribeRoutes({ gateway, openTokens }),
    ),
    ...(takesMail(config) && { isAnnounced: true }),
    describeContact: agent => ({ email: `${agent}@${agents.domain}` }),
    renderInvitation: agent => renderInvitation(agent, agents.domain),
    links: agent => [{ rel: 'mailto', href: `mailto:${agent}@${agents.domain}` }],
    ...(listen && {
      listen: former => {
        void warmUp([openAddressReader, loadSpf, loadDmarc, loadSmtpServer], platform, closing.signal)
        return openSmtpListener({
          config: listen.port === 0 && former ? { ...listen, port: former.port } : listen,
          maxBytes: limits.message_bytes,
          bodies: gateway.bodies ?? unboundedBodies,
          sleep: platform.sleep,
          domain: agents.domain,
          checkRecipient: intake.checkRecipient,
          recordRefusal: intake.recordRefusal,
          take: async (octets, envelope, place) => void (await intake.take(octets, envelope, place)),
          takeEach: intake.takeEach,
        })
      },
    }),
    close() {
      closing.abort()
      return pool.close()
    },
  }
}

/** For a channel without a gateway around it. */
const unboundedBodies: ByteBudget = { hold: () => ({ add() {}, release() {} }) }

function openProviderPlatform({ platform, store }: ChannelContext): ProviderPlatform {
  return {
    fetch: platform.fetch,
    log: platform.log,
    now: () => platform.now(),
    consumeOnce: (key, until) => store.consumeOnce(key, until),
  }
}

interface InboundDeps {
  readonly pool: MimePool
  readonly openTokens: () => Promise<AddressTokens>
}

function openInbound(
  config: EmailConfig,
  gateway: ChannelContext,
  { pool, openTokens }: InboundDeps,
): Inbound<RawMail, ProvenMail> {
  const { platform, agents, store } = gateway
  const { limits, trust } = config
  const dns = createMailDns(platform, limits)
  const deferrals = createDeferrals(store, platform, limits.deferral_ms)
  const replays = createSignatureReplays(platform)
  const readSimple = createSimpleReader({ limits, readKey: createKeyReader() })
  const correspondents = createCorrespondents({ store, platform })
  let addresses: Promise<AddressReader> | undefined
  const openAddresses = () => {
    addresses ??= openAddressReader()
    return addresses
  }
  // Read with the first mail, so that all that follows is pure.
  let tokens: AddressTokens | undefined
  return {
    name: 'email',
    async verify(raw, steps) {
      tokens ??= await openTokens()
      const tellsUnreadable = config.encrypted_notice
      const verifying = {
        gateway,
        limits,
        trust,
        tellsUnreadable,
        dns,
        readSimple,
        pool,
        deferrals,
        replays,
        correspondents,
        tokens,
        openAddresses,
        steps,
      }
      return verifyMail(raw, verifying)
    },
    normalize(mail) {
      if (!tokens) throw new Error('mail is normalized that was not verified')
      return normalizeMail(mail, { agents, tokens, config, maxHops: gateway.maxHops ?? defaultMaxHops })
    },
  }
}

export { endlessBudgets } from './config/endless-budgets.ts'
export { emailDescriptor } from './speaker.ts'

function renderInvitation(agent: string, domain: string): string {
  const address = escapeHtml(`${agent}@${domain}`)
  return `By email: <a href="mailto:${address}">${address}</a>`
}

/** Something brings mail here. */
function takesMail({ listen, intake, providers }: EmailConfig): boolean {
  return listen !== undefined || intake !== undefined || Object.keys(providers).length > 0
}

/** As the gateway's list has it. */
export const email: ChannelModule<EmailConfig, 'email'> = {
  descriptor: emailDescriptor,
  configSchema: emailConfigSchema,
  open: openEmail,
  findUnsafe: findUnsafeMail,
  openMail: ({ submit }, log) => (submit ? createMailSubmitter(submit, log) : undefined),
  devDefaults: [['email/budgets', endlessBudgets]],
  simulatedDefaults: ({ submit, secret }) => [
    ['email/submit', submit],
    ['email/intake', { secret }],
    ['email/listen', { port: 2525, protocol: 'smtp' }],
  ],
  simulatedSecret: ({ intake }) => intake?.secret,
}
