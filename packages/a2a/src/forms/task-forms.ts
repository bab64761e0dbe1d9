// Stores the output form that the caller of a task requested, because calls that read a task do not name it.
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import type { TaskKey } from '@postern/pipeline'
import type { OutputForm } from './output-form.ts'
import { chooseOutputForm } from './output-form.ts'

const formLimits = { ms: 24 * 3_600_000, tasks: 10_000 } as const

export type TaskForms = ReturnType<typeof createTaskForms>

export function createTaskForms(system: Pick<System, 'now'>) {
  const acceptedForms = createExpiringMap<readonly string[]>(formLimits.tasks, () => system.now())
  const taskKeyOf = ({ owner, id }: TaskKey) => `${id} ${owner}`
  return {
    /** Stores the form if the call names one. @returns the form for this call */
    note(task: TaskKey, acceptedModes: readonly string[] | null | undefined): OutputForm | undefined {
      const form = chooseOutputForm(acceptedModes ?? [])
      if (form) acceptedForms.set(taskKeyOf(task), acceptedModes ?? [], formLimits.ms)
      return form
    },
    find: (task: TaskKey): OutputForm | undefined => chooseOutputForm(acceptedForms.get(taskKeyOf(task)) ?? []),
  }
}
