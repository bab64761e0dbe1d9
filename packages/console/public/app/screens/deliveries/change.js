import { api } from '../../lib/api.js'
import { counted } from '../../lib/format.js'
import { attempt } from '../../parts/toast.js'

const done = { retry: 'tried again', drop: 'given up', dismiss: 'dismissed' }

/** @param {readonly any[]} deliveries @param {keyof typeof done} action @param {() => void} refresh */
export function changeAll(deliveries, action, refresh) {
  return attempt(
    async () => {
      for (const { id } of deliveries) await api(`/operator/api/deliveries/${id}/${action}`, { method: 'POST' })
      refresh()
    },
    `${counted(deliveries.length, 'delivery is', 'deliveries are')} ${done[action]}`,
  )
}
