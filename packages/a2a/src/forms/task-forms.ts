// Stores the output form that the caller of a task requested, because calls that read a task do not name it.
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import type { TaskKey } from '@postern/pipeline'
import type { OutputForm } from './output-form.ts'
import { chooseOutputForm } from './output-form.ts'

const kept = { ms: 24 * 3_600_000, tasks: 10_000 } as const

export type TaskForms = ReturnType<typeof createTaskForms>

export function createTaskForms(system: Pick<System, 'now'>) {
  const acceptedForms = createExpiringMap<readonly string[]>(kept.tasks, () => system.now())
  const nameOf = ({ owner, id }: TaskKey) => `${id} ${owner}`
  return {
    /** Stores the form if the call names one. @returns the form for this call */
    note(task: TaskKey, accepted: readonly string[] | null | undefined): OutputForm | undefined {
      const form = chooseOutputForm(accepted ?? [])
      if (form) acceptedForms.set(nameOf(task), accepted ?? [], kept.ms)
      return form
    },
    find: (task: TaskKey): OutputForm | undefined => chooseOutputForm(acceptedForms.get(nameOf(task)) ?? []),
  }
}
