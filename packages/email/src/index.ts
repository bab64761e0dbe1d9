import type { ByteBudget, Channel, House, Inbound } from '@postern/core'
import { defaultMaxHops } from '@postern/core'
import type { Hono } from 'hono'
import type { AddressReader } from './addresses.ts'
import { openAddressReader } from './addresses.ts'
import { loadDmarc } from './authenticate/dmarc.ts'
import { createMailDns } from './authenticate/mail-dns.ts'
import { createSignatureReplays } from './authenticate/replays.ts'
import { loadSpf } from './authenticate/spf.ts'
import type { EmailConfig } from './config.ts'
import { createCorrespondents } from './correspondents/correspondents.ts'
import { createDeferrals } from './deferral.ts'
import { createMailIntake } from './intake.ts'
import type { ProvenMail, RawMail } from './mail.ts'
import { createMimePool } from './mime-pool.ts'
import { normalizeMail } from './normalize.ts'
import { openMailOutbound } from './out/open-outbound.ts'
import { createUnsubscribeRoutes } from './out/unsubscribe-routes.ts'
import type { ProviderWorld } from './providers/provider.ts'
import { createMailRoutes } from './routes.ts'
import { loadSmtpServer, openSmtpListener } from './smtp-listener.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'
import { createTokenKey } from './tokens/token-key.ts'
import { verifyMail } from './verify.ts'
import { warmUp } from './warm-up.ts'

export * from './config.ts'

/** The mail door: HTTP intake and SMTP or LMTP listener in, signed mail over one smarthost out. */
export function openEmail(config: EmailConfig, house: House): Channel<Hono> {
  const { world, agents } = house
  const { limits, listen } = config
  const pool = createMimePool({ limits, world })
  const closing = new AbortController()
  const openTokens = createTokenKey(house)
  const inbound = openInbound(config, house, { pool, openTokens })
  const intake = createMailIntake(inbound, house)
  return {
    ...openMailOutbound(config, house, openTokens),
    routes: createMailRoutes({ config, intake, world: openProviderWorld(house) }).route(
      '/',
      createUnsubscribeRoutes({ house, openTokens }),
    ),
    links: agent => [{ rel: 'mailto', href: `mailto:${agent}@${agents.domain}` }],
    ...(listen && {
      listen: () => {
        void warmUp([openAddressReader, loadSpf, loadDmarc, loadSmtpServer], world, closing.signal)
        return openSmtpListener({
          config: listen,
          maxBytes: limits.message_bytes,
          bodies: house.bodies ?? unboundedBodies,
          sleep: world.sleep,
          domain: agents.domain,
          checkRecipient: intake.checkRecipient,
          recordRefusal: intake.recordRefusal,
          take: async (octets, envelope) => void (await intake.take(octets, envelope, envelope.ip ?? '')),
          takeEach: (octets, envelope) => intake.takeEach(octets, envelope, envelope.ip ?? ''),
        })
      },
    }),
    close() {
      closing.abort()
      return pool.close()
    },
  }
}

/** For a channel that stands alone. */
const unboundedBodies: ByteBudget = { hold: () => ({ add() {}, release() {} }) }

function openProviderWorld({ world, desk }: House): ProviderWorld {
  return {
    fetch: world.fetch,
    log: world.log,
    now: () => world.now(),
    consumeOnce: (key, until) => desk.consumeOnce(key, until),
  }
}

interface InboundParts {
  readonly pool: ReturnType<typeof createMimePool>
  readonly openTokens: () => Promise<AddressTokens>
}

function openInbound(
  config: EmailConfig,
  house: House,
  { pool, openTokens }: InboundParts,
): Inbound<RawMail, ProvenMail> {
  const { world, agents, desk } = house
  const { limits, trust } = config
  const dns = createMailDns(world, limits)
  const deferrals = createDeferrals(desk, world, limits.deferral_ms)
  const replays = createSignatureReplays(world)
  const correspondents = createCorrespondents({ desk, world })
  let addresses: Promise<AddressReader> | undefined
  const openAddresses = () => {
    addresses ??= openAddressReader()
    return addresses
  }
  // Read with the first mail, so that all that follows is pure.
  let tokens: AddressTokens | undefined
  return {
    name: 'email',
    async verify(raw) {
      tokens ??= await openTokens()
      const tellsUnreadable = config.encrypted_notice
      const verifying = {
        house,
        limits,
        trust,
        tellsUnreadable,
        dns,
        pool,
        deferrals,
        replays,
        correspondents,
        tokens,
        openAddresses,
      }
      return verifyMail(raw, verifying)
    },
    normalize(mail) {
      if (!tokens) throw new Error('mail is normalized that was not verified')
      return normalizeMail(mail, { agents, tokens, config, maxHops: house.maxHops ?? defaultMaxHops })
    },
  }
}
