const maxLength = 72
const form = /^(feat|fix|refactor|perf|test|docs|build|ci|chore|style|revert)(\([\w, -]+\))?!?: \S/

/** Subjects of commits that are too long, or not `type(scope): what changed`. Merges have subjects of their own. */
export function findSubjectFaults(subjects: readonly string[]): readonly string[] {
  return subjects
    .filter(subject => !subject.startsWith('Merge '))
    .flatMap(subject => {
      if (subject.length > maxLength) return [`"${subject}" has ${subject.length} characters; at most ${maxLength}`]
      return form.test(subject) ? [] : [`"${subject}" is not of the form "type(scope): what changed"`]
    })
}
