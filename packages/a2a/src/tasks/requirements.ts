import type { Delivery, Entry, NormalizedResponse, Part, SettledTask, ShowRequirement, Store } from '@postern/core'
import { showRequirements } from '@postern/core'

/** Tasks with all requirements in the form for the task's owner, who may decide them. */
export type ShownTasks = Pick<Store, 'findTask' | 'listTasks' | 'findBlob' | 'listen'>

export function showTaskRequirements(store: ShownTasks, show: ShowRequirement | undefined): ShownTasks {
  if (!show) return store
  return {
    findBlob: digest => store.findBlob(digest),
    // The notice of a turn's end may contain the task.
    listen: (topic, listener) => store.listen(topic, notice => listener(showNotice(notice, show))),
    async findTask(key) {
      const record = await store.findTask(key)
      return record && showRecord(record, show)
    },
    async listTasks(filter) {
      const { tasks, total } = await store.listTasks(filter)
      return { tasks: tasks.map(record => showRecord(record, show)), total }
    },
  }
}

function showNotice(notice: unknown, show: ShowRequirement): unknown {
  const { task } = (notice ?? {}) as { readonly task?: SettledTask | undefined }
  return task ? { ...(notice as object), task: showRecord(task, show) } : notice
}

/** Members that are read late stay so, because reading costs queries. */
function showRecord<Task extends SettledTask>(record: Task, show: ShowRequirement): Task {
  const { owner, id, agent, context, state, updatedAt } = record
  let entries: readonly Entry[] | undefined
  let response: { readonly read: NormalizedResponse | undefined } | undefined
  const shown: SettledTask = {
    owner,
    id,
    agent,
    context,
    state,
    updatedAt,
    get entries() {
      entries ??= record.entries?.map(entry => withParts(entry, show))
      return entries
    },
    get response() {
      response ??= { read: record.response && withParts(record.response, show) }
      return response.read
    },
    get earlier() {
      // Results alone are shown of these, and no result asks for anything.
      return record.earlier
    },
    get heard() {
      return record.heard
    },
  }
  return shown as Task
}

/** A subscriber has the rights of the task's owner, who set up the subscription. */
export function showDelivery(delivery: Delivery, show: ShowRequirement | undefined): Delivery {
  const { response } = delivery
  return show && response ? { ...delivery, response: withParts(response, show) } : delivery
}

function withParts<Said extends { readonly parts: readonly Part[] }>(said: Said, show: ShowRequirement): Said {
  const parts = showRequirements(said.parts, show)
  return parts === said.parts ? said : { ...said, parts }
}
