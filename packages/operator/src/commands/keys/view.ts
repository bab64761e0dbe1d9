// Prints keys, DNS records and secrets, and rotates keys.
import type { OperationAnswer } from '../../api/operation.ts'
import { formatTable } from '../../terminal/text.ts'
import { createOperationView } from '../operation-view.ts'
import { keyOperations } from './route.ts'

type Keys = OperationAnswer<typeof keyOperations.rotate>

export const keyViews = {
  list: createOperationView(keyOperations.list, keyPage => {
    const { agents_left_out: leftOutCount } = keyPage
    const note = `\n\nThe keys of ${leftOutCount} more agents are not listed; --agent <name> shows those of one.`
    return `${formatKeys(keyPage)}${leftOutCount > 0 ? note : ''}`
  }),
  /** Creates new keys for one agent, or for all. With `revoke`, the old ones end at once. */
  rotate: createOperationView(keyOperations.rotate, (rotatedKeys, { revoke }) =>
    formatRotated(rotatedKeys, { isRevoking: revoke === true }),
  ),
}

function formatRotated(rotatedKeys: Keys, { isRevoking }: { readonly isRevoking: boolean }): string {
  const oldKeyState = isRevoking ? 'are no longer valid' : 'stay valid for a week'
  const publishNote = rotatedKeys.keys.some(({ dns }) => dns)
    ? ' Publish the DNS records now: receivers need them to check signatures.'
    : ''
  return `${formatKeys(rotatedKeys)}\n\nThe new ones are in use now; the old ones ${oldKeyState}.${publishNote}`
}

function formatKeys({ keys, secrets }: Keys): string {
  const keyTexts = keys.map(({ purpose, id, algorithm, publicKey, dns }) =>
    [
      `${purpose}: ${id} (${algorithm})`,
      publicKey.trim(),
      ...(dns ? [`DNS  ${dns.name}  ${dns.type}  "${dns.value}"`] : []),
    ].join('\n'),
  )
  const rows = secrets.map(({ id, purpose, madeAt }) => [id, madeAt?.slice(0, 10) ?? '', purpose])
  const lines = rows.length > 0 ? [formatTable(['secret', 'made', 'for'], rows)] : []
  return [...keyTexts, ...lines].join('\n\n')
}
