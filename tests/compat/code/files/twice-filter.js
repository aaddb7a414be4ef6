module.exports = (text, between) => text + between + text;
