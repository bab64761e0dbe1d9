import { Rejection } from '@postern/core'
import type { CheckGroup } from '../../doctor/check.ts'
import { checkGroups } from '../../doctor/check.ts'

/** `mail,tls`: names of groups with commas between them; all where nothing is said. @throws Rejection `malformed` */
export function readCheckGroups(text: string | undefined): readonly CheckGroup[] {
  if (text === undefined || text === '') return checkGroups
  const names = text.split(',').map(name => name.trim())
  const unknown = names.find(name => !checkGroups.some(group => group === name))
  if (unknown !== undefined)
    throw new Rejection('malformed', `Cannot check "${unknown.slice(0, 40)}": the groups are ${checkGroups.join(', ')}`)
  return checkGroups.filter(group => names.includes(group))
}
