// Lists the issuers of tokens that the gateway trusts.
import { createIssuerKeys } from '@postern/http/tokens'
import { toConfigured } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import type { TrustedIssuerConfig } from '../config.ts'
import type { OwnIssuer } from '../keys/own-keys.ts'

export function listIssuers(
  configs: readonly TrustedIssuerConfig[],
  { system }: Pick<ChannelContext, 'system'>,
  ownIssuer: OwnIssuer | undefined,
): readonly OwnIssuer[] {
  const trustedIssuers = configs.map(config => ({ config, keys: createIssuerKeys(config.jwks, toConfigured(system)) }))
  return [
    ...(ownIssuer && !configs.some(({ issuer }) => issuer === ownIssuer.config.issuer) ? [ownIssuer] : []),
    ...trustedIssuers,
  ]
}

/** Finds the issuers with ambiguous plain names. They share a host with another issuer or with our agents. */
export function findSharedHosts(
  issuers: readonly OwnIssuer[],
  domain: string,
  ownIssuer: OwnIssuer | undefined,
): ReadonlySet<string> {
  const hosts = issuers.map(({ config }) => hostOf(config))
  const isShared = ({ config }: OwnIssuer) => {
    const isAtAgentDomain = config !== ownIssuer?.config && hostOf(config) === domain
    return isAtAgentDomain || hosts.filter(host => host === hostOf(config)).length > 1
  }
  return new Set(issuers.filter(isShared).map(({ config }) => config.issuer))
}

function hostOf({ issuer }: TrustedIssuerConfig): string {
  return new URL(issuer).hostname
}
