// Reports the proven identities of the sender, and whether one belongs to the known workspace.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const member = 'urn:mentionable:auth:slack-workspace-member:v0.1'

export function handle({ recipient_capabilities: { mention_relay } }: NormalizedMessage, { identity }: AgentContext) {
  const isMember = identity.has({ method: member, subject_prefix: 'slack:T123/' })
  const identities = identity.list().map(({ subject, issuer, proof }) => `${subject} by ${issuer} (${proof.type})`)
  return [isMember ? 'a member' : 'a stranger', mention_relay.kind, ...identities].join('; ')
}
