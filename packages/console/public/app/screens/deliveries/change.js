// Retries, drops or dismisses deliveries one by one.
import { ApiError, api } from '../../lib/api.js'
import { formatCount } from '../../lib/format.js'
import { say } from '../../parts/toast.js'

const done = { retry: 'tried again', drop: 'given up', dismiss: 'dismissed' }

/**
 * Changes deliveries one by one, and continues if one fails. A delivery that has ended meanwhile needs no change.
 * @param {readonly any[]} deliveries
 * @param {keyof typeof done} action
 * @param {() => void} refresh
 */
export async function changeAll(deliveries, action, refresh) {
  let changed = 0
  const failures = []
  try {
    for (const { id } of deliveries) {
      const failure = await change(id, action)
      if (failure === undefined) changed += 1
      else if (!isOver(failure)) failures.push(failure)
    }
  } finally {
    refresh()
  }
  if (changed > 0) say(`${formatCount(changed, 'delivery is', 'deliveries are')} ${done[action]}`)
  if (failures.length > 0)
    say(
      `${formatCount(failures.length, 'delivery is', 'deliveries are')} not ${done[action]}: ${failures[0]?.message}`,
      'bad',
    )
  else if (changed === 0) say('There was nothing left to change')
}

/** @param {string} id @param {keyof typeof done} action @returns {Promise<Error | undefined>} what went wrong */
function change(id, action) {
  return api(`/operator/api/deliveries/${id}/${action}`, { method: 'POST' }).then(
    () => undefined,
    error => (error instanceof Error ? error : new Error(String(error))),
  )
}

/** Returns true if the delivery was sent meanwhile, or if somebody else changed it. @param {Error} failure */
function isOver(failure) {
  return failure instanceof ApiError && failure.status === 404
}
