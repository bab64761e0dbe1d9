/** Answers with the requested kind of content, which shows nothing to a reader. */
export async function handle({ parts }: { readonly parts: readonly { readonly content?: string }[] }) {
  const asked = parts.map(({ content = '' }) => content).join(' ')
  if (asked.includes('pieces')) return streamBlanks()
  return asked.includes('empty') ? '' : ' \n\t '
}

async function* streamBlanks() {
  yield ' '
  yield '\n\t'
}
