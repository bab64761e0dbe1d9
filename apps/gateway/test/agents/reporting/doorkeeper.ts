import type { AgentContext, NormalizedMessage } from '@postern/core'

const member = 'urn:mentionable:auth:slack-workspace-member:v0.1'

/** Says who spoke, by what is proven, and whether that is a member of the one workspace. */
export function handle({ recipient_capabilities: { mention_relay } }: NormalizedMessage, { identity }: AgentContext) {
  const isMember = identity.has({ method: member, subject_prefix: 'slack:T123/' })
  const known = identity.list().map(({ subject, issuer, proof }) => `${subject} by ${issuer} (${proof.type})`)
  return [isMember ? 'a member' : 'a stranger', mention_relay.kind, ...known].join('; ')
}
